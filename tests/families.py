"""The noises that long tests go through: every family, and of those that a wrapper makes of others one of each kind.

Laws of a single law run over all pairs of the registry. Fits of a pair differ from those of another pair of the same
wrapper by what is inside, which has tests of its own: so of each wrapper, and of each measure that its pairs have, the
pair with the fewest parameters that the general solver fits stands for the others.
"""

from neglog.distributions import FAMILIES, Noise


def _stands_for_others(family):
    alike = [other for other in FAMILIES.values() if _kind(other) == _kind(family)]
    return family is min(alike, key=lambda other: (len(other.declared), other.__name__))


def _kind(family):
    around = getattr(family, "around", None)
    if around is None or family.traits.settled_by is not None or not family.traits.smooth:
        return None
    return around, family.measure


def stands_alone(family):
    """Whether it is no pair, or the one of its kind that stands for others."""
    return not hasattr(family, "around") or (_kind(family) is not None and _stands_for_others(family))


TESTED = {name: family for name, family in FAMILIES.items() if issubclass(family, Noise) and stands_alone(family)}
