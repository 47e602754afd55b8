"""The intercept-only fit that D² compares with."""

import numpy as np

from neglog.design.design import Design, Schema
from neglog.engines.memory import Memory
from neglog.inference.answer import Answer, Task
from neglog.inference.solve import solve
from neglog.solvers.penalty import Penalty


def null_answer(task: Task) -> tuple[Task, Answer]:
    """The same target without columns."""
    engine = task.engine
    design = Design((), engine.rows, 0, Schema(0))
    bare = Memory(design, engine.y, engine.weight, engine.offset, engine.loss, intercept=True, centre=np.zeros(0))
    null_task = Task(task.target, bare, Penalty.none(bare.width), task.tol, task.max_iter)
    return null_task, solve(null_task)
