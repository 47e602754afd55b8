"""What solvers, trees and sentences may assume about a noise: declared by its family, asked of nobody else."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """log_concave  the links under which the nll is convex in the raw prediction
    smooth       False: the nll has kinks, and solvers that need curvature must not use it
    steady       False: the curvature jumps, so that one Newton step says little about the next
    divided      the spread divides the loss by a dispersion, so that where the loss is least does not depend on it
    repeats      a row of precision p was observed p times: y is a rate, or a share of p trials
    predicts     what the location is, in words
    of_log       the location is that of log y: what is added to it multiplies y
    settled_by   the accelerator that fits it (likelihood/accelerators.py); None for the solver that takes any noise
    integrated   the law of y where the rows also tell the scale, which is integrated; None where it has no closed form
    separates    what is told apart where a likelihood has no maximum
    asks         the parameter that is the question, not an unknown: of several values each is a fit of its own
    intercept    False: what the noise estimates takes up an intercept, so that a fit has none
    """

    log_concave: tuple[str, ...] = ()
    smooth: bool = True
    steady: bool = True
    divided: bool = False
    repeats: bool = False
    predicts: str = "mean of {y}"
    of_log: bool = False
    settled_by: str | None = None
    integrated: str | None = None
    separates: str = "the zeros from the others"
    asks: str | None = None
    intercept: bool = True
