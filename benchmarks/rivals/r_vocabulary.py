"""R: MASS, pscl, survival, ordinal and glmmTMB, in a process of their own. R measures the time, as in r_models.py."""

import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from questions import Found, Question
from tasks import Candidate

from rivals.r_models import installed

NAME = "R"
SCRIPT = Path(__file__).with_name("vocabulary.R")
MODELS = {
    "nb": ("MASS glm.nb", "glmmTMB nbinom2"),
    "zip": ("pscl zeroinfl", "glmmTMB poisson"),
    "hurdle": ("pscl hurdle", "glmmTMB truncated_poisson"),
    "weibull": ("survival survreg",),
    "ordinal": ("ordinal clm", "MASS polr"),
    "beta": ("glmmTMB beta_family", "betareg betareg"),
}


def candidates(question: Question) -> Iterator[Candidate]:
    """What the packages that are here can do, with their own tolerances."""
    folder = None
    for model in MODELS.get(question.key, ()):
        if not installed(model.split()[0]):
            question.remarks[f"R {model}"] = "not installed"
            continue
        folder = folder or handed_over(question)
        yield Candidate(f"R {model}", lambda _, model=model, folder=folder: run(folder, question, model))


def handed_over(question: Question) -> Path:
    """The data as raw numbers in files that live as long as the question."""
    folder = Path(tempfile.mkdtemp(prefix="neglog-bench-"))
    weakref.finalize(question, shutil.rmtree, folder, ignore_errors=True)
    question.X.T.tofile(folder / "X")
    y, event = question.y if isinstance(question.y, tuple) else (question.y, np.ones(question.n))
    y.astype(float).tofile(folder / "y")
    event.astype(float).tofile(folder / "event")
    return folder


def run(folder: Path, question: Question, model: str) -> Found:
    """One process; whoever waits ends it."""
    arguments = [str(folder), str(question.n), str(question.X.shape[1]), *model.split()]
    try:
        subprocess.run(["Rscript", str(SCRIPT), *arguments], check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        raise RuntimeError(error.stderr.decode().strip().splitlines()[-1]) from None
    seconds, intercept, *numbers = np.fromfile(folder / "answer")
    coef, others = np.split(np.array(numbers), [question.X.shape[1]])
    return Found(intercept, coef, (others,) if question.key == "ordinal" else tuple(others), seconds)
