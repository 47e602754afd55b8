"""The intercept-only fit that D² compares with."""

from neglog.inference.answer import Answer, Task
from neglog.inference.solve import solve


def null_answer(task: Task) -> tuple[Task, Answer]:
    """The same target without columns."""
    bare = task.without_columns()
    return bare, solve(bare)
