"""What groups have in common: the Gaussian law that their coefficients are drawn from."""

from dataclasses import dataclass

from neglog.typing import Numbers


@dataclass(frozen=True)
class Pooled:
    """The coefficients of a group are Normal(mean, scale^2), each by itself; a scale of 0 says that they are the same
    in all groups. `noise` has what was estimated of the noise, which all groups share. All of them have standard
    errors, those of a scale of 0 infinite. `log_evidence` says how probable the data are, all coefficients of groups
    integrated out.
    """

    names: tuple[str, ...]
    mean: Numbers
    scale: Numbers
    mean_errors: Numbers
    scale_errors: Numbers
    intercept: float
    intercept_scale: float
    intercept_error: float
    intercept_scale_error: float
    has_intercept: bool
    noise: dict[str, float]
    noise_errors: dict[str, float]
    log_evidence: float

    def __str__(self) -> str:
        own = [("intercept", self.intercept, self.intercept_scale)] if self.has_intercept else []
        own += list(zip(self.names, self.mean.tolist(), self.scale.tolist(), strict=True))
        return "between groups: " + ", ".join(f"{name} {mean:.4g} ± {scale:.4g}" for name, mean, scale in own)
