"""The data of the fits: correlated and badly scaled columns, sparse columns, and files that may be absent."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

FOLDERS = (os.environ.get("NEGLOG_DATA"), Path(__file__).parents[2] / "shared" / "data")


class AbsentError(Exception):
    """The data of a problem are not on this machine."""


def columns(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Half of each column's variance is a shared factor; scales from 0.01 to 100, in no order; means of that size."""
    scales = 10 ** rng.permutation(np.linspace(-2, 2, d))
    means = rng.normal(size=d)
    X = rng.normal(size=(n, d))
    X += rng.normal(size=(n, 1))
    X /= np.sqrt(2)
    X += means
    X *= scales
    return X


def predictor(X: np.ndarray, rng: np.random.Generator, nonzero: int | None = None, spread: float = 0.5) -> np.ndarray:
    """A linear predictor of mean zero and the given standard deviation, in which every kept column has a like part."""
    d = X.shape[1]
    head = X[:10_000]
    coef = rng.normal(size=d) / head.std(axis=0)
    if nonzero is not None:
        coef[rng.permutation(d)[nonzero:]] = 0
    eta = X @ coef
    return spread * (eta - eta.mean()) / eta.std()


def response(noise: str, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws at the raw prediction, as floats."""
    n = eta.size
    if noise == "poisson":
        return rng.poisson(np.exp(eta)).astype(float)
    if noise == "gamma":
        return np.exp(eta) * rng.gamma(1.0, size=n)
    if noise == "tweedie":  # power 1.5, dispersion 1: a Poisson number of exponential jumps
        jumps = rng.poisson(2 * np.exp(eta / 2))
        return np.where(jumps > 0, rng.gamma(np.maximum(jumps, 1)), 0.0) * 0.5 * np.exp(eta / 2)
    if noise == "bernoulli":
        return (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(float)
    if noise == "gaussian":
        return eta + rng.normal(size=n)
    if noise in ("laplace", "huber"):
        return eta + rng.laplace(size=n)
    raise ValueError(f"No draws are written for the noise {noise!r}")


def dense(noise: str, n: int, d: int, nonzero: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Columns and a response; the same columns for every noise of the same shape."""
    X = columns(n, d, np.random.default_rng(d))
    rng = np.random.default_rng(0)
    return X, response(noise, predictor(X, rng, nonzero), rng)


def classes(n: int, d: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and labels 0 .. count - 1."""
    X = columns(n, d, np.random.default_rng(d))
    rng = np.random.default_rng(0)
    eta = np.column_stack([predictor(X, rng, spread=1.0) for _ in range(count)])
    return X, np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)


def scattered(n: int, d: int, density: float, nonzero: int = 200) -> tuple[sparse.csr_array, np.ndarray]:
    """A sparse matrix of normal numbers at random places, and a yes/no response to a few of its columns."""
    rng = np.random.default_rng(0)
    each = max(1, round(density * d))
    places = np.sort(rng.integers(0, d, size=(n, each)), axis=1)
    X = sparse.csr_array((rng.normal(size=n * each), places.ravel(), np.arange(0, n * each + 1, each)), shape=(n, d))
    X.sum_duplicates()
    coef = np.zeros(d)
    coef[rng.permutation(d)[:nonzero]] = 3 * rng.choice([-1.0, 1.0], size=min(nonzero, d))
    return X, response("bernoulli", X @ coef, rng)


def located(name: str) -> Path:
    """Where a file of real data lies."""
    for folder in FOLDERS:
        if folder and (path := Path(folder) / name).exists():
            return path
    raise AbsentError(f"{name} is not here; set NEGLOG_DATA to the folder that holds it")


def bikes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Hourly bike hire in Washington: weather, and indicators of hour, month, weekday and season."""
    table = pd.read_csv(located("bike_sharing_hour.csv")).iloc[:n]
    numbers = table[["temp", "atemp", "hum", "windspeed", "holiday", "workingday", "yr"]].to_numpy(float)
    levels = pd.get_dummies(table[["hr", "mnth", "weekday", "season", "weathersit"]].astype(str)).to_numpy(float)
    return np.column_stack([numbers, levels]), table["cnt"].to_numpy(float)


def w8a() -> tuple[sparse.csr_array, np.ndarray]:
    """The sparse binary classification of LIBSVM."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(located("w8a.libsvm")))
    return sparse.csr_array(X), (y > 0).astype(float)


def motor() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """French motor policies: seven categorical and two numeric columns, numbers of claims, years of exposure."""
    policies = pd.read_parquet(located("freMTPL2freq.parquet"))
    table = pd.DataFrame(
        {
            "Area": policies["Area"],
            "VehPower": policies["VehPower"].astype(str),
            "VehAge": pd.cut(policies["VehAge"], [-1, 0, 1, 4, 10, 200]).astype(str),
            "DrivAge": pd.cut(policies["DrivAge"], [17, 20, 25, 30, 40, 50, 70, 200]).astype(str),
            "VehBrand": policies["VehBrand"],
            "VehGas": policies["VehGas"],
            "Region": policies["Region"],
        }
    ).astype("category")
    for name, values in (("LogDensity", np.log(policies["Density"])), ("BonusMalus", policies["BonusMalus"])):
        table[name] = ((values - values.mean()) / values.std()).astype(float)
    return table, policies["ClaimNb"].clip(upper=4).to_numpy(float), policies["Exposure"].clip(upper=1).to_numpy(float)


def indicators(table: pd.DataFrame) -> sparse.csr_array:
    """The table as numbers: in the order of its columns, a categorical one as one 0/1 column per level."""
    blocks = []
    for name in table.columns:
        column = table[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes = column.cat.codes.to_numpy()
            shape = (codes.size, len(column.cat.categories))
            blocks.append(sparse.csr_array((np.ones(codes.size), codes, np.arange(codes.size + 1)), shape=shape))
        else:
            blocks.append(sparse.csr_array(column.to_numpy()[:, None]))
    return sparse.csr_array(sparse.hstack(blocks, format="csr"))
