"""The intercept-only fit that D² compares with."""

from neglog.estimation.solve import solve
from neglog.likelihood.task import Answer, Task


def null_answer(task: Task) -> tuple[Task, Answer]:
    """The same target without columns."""
    bare = task.without_columns()
    return bare, solve(bare)
