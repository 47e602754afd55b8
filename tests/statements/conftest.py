import pytest
from scipy import optimize


@pytest.fixture
def argmin():
    """The minimiser of a function of one number on an interval."""

    def search(objective, low, high):
        found = optimize.minimize_scalar(objective, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
        return found.x

    return search
