"""Some of the random problems that `make fuzz` asks many more of."""

import numpy as np
import pytest
from fuzz.check import examine
from fuzz.formulas import LAWS
from fuzz.problems import NOISES, make

PROBLEMS, BATCH = 300, 20


def test_every_formula_is_that_of_a_noise():
    """Noises without formulas here are judged by the laws of inference alone."""
    assert LAWS.keys() == NOISES.keys()


@pytest.mark.parametrize("first", range(0, PROBLEMS, BATCH))
def test_answers(first):
    bad = [outcome for seed in range(first, first + BATCH) if not (outcome := examine(seed)).good]
    assert not bad, "\n".join(f"{outcome}\n    {make(outcome.seed)}" for outcome in bad)


@pytest.mark.parametrize("name", [name for name, law in LAWS.items() if law.rows is not None])
def test_formulas_and_their_derivatives_agree(name):
    """The harness' own: a slip in it would be taken for one of the library."""
    law, rng, step = LAWS[name], np.random.default_rng(5), 1e-5
    for link in NOISES[name]._links():
        for _ in range(8):
            parameters = law.stated(rng)
            eta = rng.uniform(0.3, 0.8, 7) * (-1 if law.domain(link, parameters)[1] == 0 else 1)
            mean = law.mean(eta, link, parameters)
            y = np.asarray(law.draw(rng, mean if name != "lognormal" else eta, parameters), float)
            _, slope, bend = law.rows(y, eta, link, parameters, None)
            if name in ("laplace", "huber"):
                y += 0.1  # away from the kinks
            sides = [law.rows(y, eta + shift, link, parameters, None) for shift in (-step, step)]
            _, slope, bend = law.rows(y, eta, link, parameters, None)
            np.testing.assert_allclose(slope, (sides[1][0] - sides[0][0]) / (2 * step), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(bend, (sides[1][1] - sides[0][1]) / (2 * step), rtol=1e-5, atol=1e-4)
