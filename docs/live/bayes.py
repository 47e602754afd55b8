"""A diagnostic test and a coin: Bayes' rule for two hypotheses and for one number."""

import numpy as np

import neglog as nl


def data() -> dict:
    return {}


def expected(
    prevalence: float, sensitivity: float, specificity: float, a: float, b: float, heads: float, tails: float
) -> dict[str, float]:
    prior = {"sick": prevalence, "well": 1 - prevalence}
    positive = nl.bayes(prior, {"sick": sensitivity, "well": 1 - specificity})
    negative = nl.bayes(prior, {"sick": 1 - sensitivity, "well": specificity})
    tosses = np.repeat([1, 0], [int(heads), int(tails)])
    coin = nl.posterior(tosses, noise=nl.Bernoulli(), prior=nl.Beta(a, b))
    low, high = coin.interval(0.9)
    return {
        "positive": positive.probability["sick"],
        "negative": negative.probability["sick"],
        "mean": float(coin.mean),
        "low": float(low),
        "high": float(high),
    }
