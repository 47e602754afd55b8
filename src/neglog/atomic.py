"""Files that appear only when they are complete."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Any]:
    """A binary file to write to, which takes its name when all went well and leaves nothing behind when not."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {target.parent} to write {target.name} to")
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, 0o666 & ~umask())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def umask() -> int:
    """The mode bits that new files lack, which can only be read by setting them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
