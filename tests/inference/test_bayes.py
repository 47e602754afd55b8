"""Bayes' rule for finitely many hypotheses."""

import numpy as np
import pytest

import neglog as nl

PRIOR = {"sick": 0.01, "well": 0.99}
POSITIVE = {"sick": 0.8, "well": 0.096}


def test_screening():
    """Eddy (1982): 1% are ill, 80% of them and 9.6% of the others test positive."""
    belief = nl.bayes(PRIOR, POSITIVE)
    assert belief.evidence == pytest.approx(0.01 * 0.8 + 0.99 * 0.096, rel=1e-15)
    assert belief.probability["sick"] == pytest.approx(0.008 / 0.10304, rel=1e-14)
    assert sum(belief.probability.values()) == pytest.approx(1, abs=1e-15)
    assert belief.odds["sick"] == pytest.approx(0.008 / 0.09504, rel=1e-14)
    assert belief.log_evidence == pytest.approx(np.log(0.10304), rel=1e-14)


def test_observations_at_once_or_in_turn():
    turn = nl.bayes(PRIOR, POSITIVE).update({"sick": 0.2, "well": 0.904}).update(POSITIVE)
    once = nl.bayes(PRIOR, {"sick": [0.8, 0.2, 0.8], "well": [0.096, 0.904, 0.096]})
    array = nl.bayes([0.01, 0.99], [[0.8, 0.096], [0.2, 0.904], [0.8, 0.096]])
    logs = nl.bayes([0.01, 0.99], np.log([[0.8, 0.096], [0.2, 0.904], [0.8, 0.096]]), log=True)
    assert turn.probability == pytest.approx(once.probability, rel=1e-13)
    for other in (array, logs):
        np.testing.assert_allclose(other.probability, list(once.probability.values()), rtol=1e-13)
        assert other.evidence == pytest.approx(once.evidence, rel=1e-13)


def test_an_update_leaves_the_belief_as_it_was():
    belief = nl.bayes(PRIOR, POSITIVE)
    before = belief.probability
    belief.update(POSITIVE)
    assert belief.probability == before


def test_thousands_of_observations_do_not_underflow(rng):
    tosses = rng.random(5000) < 0.5
    coins = np.array([0.4, 0.5, 0.6])
    belief = nl.bayes(np.full(3, 1 / 3), np.where(tosses[:, None], coins, 1 - coins))
    assert belief.probability[1] > 0.999
    assert np.isfinite(belief.log_evidence)
    assert belief.evidence == 0.0  # smaller than any number, which is why there is log_evidence
    heads = tosses.sum()
    log_odds = heads * np.log(0.5 / 0.4) + (5000 - heads) * np.log(0.5 / 0.6)
    assert belief.log_probability[1] - belief.log_probability[0] == pytest.approx(log_odds, rel=1e-10)


def test_a_hypothesis_may_be_ruled_out():
    belief = nl.bayes({"two heads": 0.5, "fair": 0.5}, {"two heads": 0.0, "fair": 0.5})
    assert belief.probability == {"two heads": 0.0, "fair": 1.0}
    assert belief.odds == {"two heads": 0.0, "fair": np.inf}


def test_it_prints_a_table():
    text = repr(nl.bayes(PRIOR, POSITIVE))
    assert "sick" in text
    assert "0.07764" in text
    assert "evidence 0.10304" in text


@pytest.mark.parametrize(
    ("prior", "likelihood", "error", "message"),
    [
        ({"a": 0.5, "b": 0.5}, {"a": 0.0, "b": 0.0}, ValueError, "the evidence is zero"),
        ({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 0.5}, ValueError, "the evidence is zero"),
        ({"a": -0.1, "b": 1.1}, {"a": 0.1, "b": 0.1}, ValueError, "≥ 0, but 1 of 2 are not: the first, 'a', is -0.1"),
        ({"a": 0.5, "b": 0.6}, {"a": 0.1, "b": 0.1}, ValueError, "must sum to 1, but sums to 1.1"),
        ({"a": 0.5, "b": 0.5}, {"a": 0.1}, ValueError, "lacks 'b'"),
        ({"a": 0.5, "b": 0.5}, {"a": 0.1, "b": 0.1, "c": 1}, ValueError, "has 'c', which the prior has not"),
        ({"a": 0.5, "b": 0.5}, [0.1, 0.2], TypeError, "must be a mapping like the prior"),
        ([0.5, 0.5], {"a": 0.1, "b": 0.2}, TypeError, "must be an array like the prior"),
        ([0.5, 0.5], [0.1, 0.2, 0.3], ValueError, "one value for each of the 2 hypotheses"),
        ([0.5, 0.5], [0.1, -0.2], ValueError, "observation 0 has -0.2 under hypothesis number 1"),
        ([0.5, 0.5], [0.1, np.nan], ValueError, "observation 0 has nan"),
        ({"a": 0.5, "b": 0.5}, {"a": [0.1, 0.2], "b": [0.1]}, ValueError, "2 under 'a', 1 under 'b'"),
        ({"a": 0.5, "b": 0.5}, {"a": "x", "b": 0.1}, TypeError, "likelihood of 'a' must be numbers"),
        ([[0.5, 0.5]], [0.1, 0.2], ValueError, "has the shape"),
        ([], [], ValueError, "has the shape"),
    ],
)
def test_errors(prior, likelihood, error, message):
    with pytest.raises(error, match=message.replace("(", r"\(")):
        nl.bayes(prior, likelihood)
