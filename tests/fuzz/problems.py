"""Random problems, valid and invalid, each from one seed."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
from fuzz.formulas import LAWS, link_parts
from pyarrow import csv, parquet
from scipy import sparse, special

import neglog as nl
from neglog.distributions.noise import Noise
from neglog.distributions.registry import FAMILIES

NOISES = {name: family for name, family in FAMILIES.items() if issubclass(family, Noise) and name in LAWS}
ARRAYS = ("c", "c", "c", "f", "float32", "strided", "list", "csr", "csc")
TABLES = ("pandas", "polars", "arrow")
FILES = ("parquet", "csv")
LEVELS = ("blue", "green", "red", "white")

SHAPES = {
    "plain": 30,
    "few rows": 4,
    "saturated": 3,
    "one row": 2,
    "no columns": 3,
    "constant column": 4,
    "duplicate column": 4,
    "constant y": 4,
    "separated": 5,
    "zero weights": 5,
    "scaled columns": 5,
    "hugely scaled columns": 2,
    "far column": 4,
    "outlier": 4,
    "units": 6,
    "huge y": 2,
    "zeros only": 2,
}
INVALID = 0.22  # of all problems


@dataclass
class Prior:
    """A prior as plain numbers, one per coefficient or one for all; None is a scale that is learned."""

    gaussian: Any = np.inf  # scale
    gaussian_loc: Any = 0.0
    laplace: Any = np.inf
    laplace_loc: Any = 0.0

    @property
    def learned(self):
        return self.gaussian is None or self.laplace is None

    @property
    def by_column(self):
        return any(np.ndim(scale) for scale in (self.gaussian, self.laplace) if scale is not None)

    def terms(self, columns=1):
        """(bend, centre, strength, kink), one per column."""
        parts = np.zeros((4, columns))
        for i, (scale, loc, power) in enumerate(
            [(self.gaussian, self.gaussian_loc, 2), (self.laplace, self.laplace_loc, 1)]
        ):
            if scale is not None:
                scale = np.broadcast_to(np.asarray(scale, float), columns)
                parts[2 * i] = 1 / scale**power
                parts[2 * i + 1] = np.where(np.isfinite(scale), loc, 0.0)
        return parts

    def law(self):
        if self.gaussian is None:
            return nl.Gaussian()
        if self.laplace is None:
            return nl.Laplace()
        law = nl.Flat()
        if np.any(np.isfinite(self.gaussian)):
            law = law * nl.Gaussian(loc=self.gaussian_loc, scale=self.gaussian)
        if np.any(np.isfinite(self.laplace)):
            law = law * nl.Laplace(loc=self.laplace_loc, scale=self.laplace)
        return law


@dataclass
class Problem:
    """What is asked, and how it was made."""

    seed: int
    family: str
    link: str
    parameters: dict[str, Any]  # of the noise beside its location; None is open
    X: np.ndarray  # the numeric columns
    y: np.ndarray
    prior: Prior
    codes: np.ndarray | None = None  # of a factor
    sample_weight: np.ndarray | None = None
    precision: np.ndarray | None = None
    offset: np.ndarray | None = None
    exposure: np.ndarray | None = None
    intercept: bool = True
    standardize: bool | None = None
    container: str = "c"
    shape: str = "plain"
    truth: tuple[Any, np.ndarray] | None = None  # intercept and coefficients that y was drawn from
    invalid: str | None = None  # what makes it so
    changes: dict[str, Any] = field(default_factory=dict)  # arguments of the call that are not what they should be

    # ---- as the harness sees it --------------------------------------------------------------------------------------

    @property
    def names(self):
        numbers = [f"{'c' if self.is_table else 'x'}{j}" for j in range(self.X.shape[1])]
        if self.codes is None:
            return numbers
        present = sorted({LEVELS[code] for code in self.codes})
        return numbers + [f"g[{level}]" for level in (present[1:] if self.has_reference else present)]

    @property
    def has_reference(self):
        """Whether the first level has no coefficient of its own, for the intercept stands for it."""
        return self.codes is not None and self.intercept and self.flat_prior

    @property
    def flat_prior(self):
        return isinstance(self.prior.law(), nl.Flat)

    @property
    def dense(self):
        """Every column that has a coefficient, in the order of `names`."""
        if self.codes is None:
            return self.X
        levels = [name[2:-1] for name in self.names if name.startswith("g[")]
        indicators = [(self.codes == LEVELS.index(level)).astype(float)[:, None] for level in levels]
        return np.hstack([self.X, *indicators])

    @property
    def is_table(self):
        return self.container in TABLES + FILES

    @property
    def shift(self):
        """What is added to the raw predictions."""
        shift = 0.0 if self.offset is None else self.offset
        return shift if self.exposure is None else shift + np.log(self.exposure)

    # ---- as the library is asked -------------------------------------------------------------------------------------

    def noise(self):
        return NOISES[self.family](**self.parameters, link=self.link)

    def arguments(self, folder):
        """What `nl.fit` is called with."""
        beside = {"y": self.y} | {
            name: getattr(self, name)
            for name in ("sample_weight", "precision", "offset", "exposure")
            if getattr(self, name) is not None
        }
        if self.container in FILES:
            X, beside = self.file(folder, beside), {name: name for name in beside}
        else:
            X = self.table() if self.is_table else self.array()
        arguments = {"X": X, "noise": self.noise(), "prior": self.prior.law(), "intercept": self.intercept} | beside
        if self.standardize is not None:
            arguments["standardize"] = self.standardize
        return arguments | {name: change(arguments) for name, change in self.changes.items()}

    def array(self):
        X = np.ascontiguousarray(self.X)
        match self.container:
            case "c":
                return X
            case "f":
                return np.asfortranarray(X)
            case "float32":
                return X.astype(np.float32)
            case "strided":
                return np.repeat(X, 2, axis=1)[:, ::2]
            case "list":
                return X.tolist() if X.shape[1] else X
            case "csr":
                return sparse.csr_array(X)
            case "csc":
                return sparse.csc_matrix(X)
        raise KeyError(self.container)

    def columns(self):
        columns = {f"c{j}": self.X[:, j] for j in range(self.X.shape[1])}
        if self.codes is not None:
            columns["g"] = [LEVELS[code] for code in self.codes]
        return columns

    def table(self):
        columns = self.columns()
        match self.container:
            case "pandas":
                frame = pandas.DataFrame(columns)
                return frame.astype({"g": "category"}) if self.codes is not None and self.seed % 2 else frame
            case "polars":
                return polars.DataFrame(columns)
            case "arrow":
                return pyarrow.table(columns)
        raise KeyError(self.container)

    def file(self, folder, beside):
        path = Path(folder) / f"{self.seed}.{self.container}"
        table = pyarrow.table(self.columns() | beside)
        (parquet.write_table if self.container == "parquet" else csv.write_csv)(table, path)
        return str(path)

    def __str__(self):
        noise = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        beside = [
            what for what in ("sample_weight", "precision", "offset", "exposure") if getattr(self, what) is not None
        ]
        return (
            f"{self.family}({noise}) link={self.link} prior={self.prior.law()!r} X={self.X.shape} "
            f"{'factor ' if self.codes is not None else ''}{self.container} intercept={self.intercept} "
            f"{' '.join(beside)} "
            f"[{self.shape}]{f' invalid: {self.invalid}' if self.invalid else ''}"
        )


# ---- making them -----------------------------------------------------------------------------------------------------


def make(seed):
    """The problem of this seed."""
    rng = np.random.default_rng([seed, 20260101])
    problem = _valid(rng, seed)
    return _spoiled(problem, rng) if rng.random() < INVALID else problem


def _valid(rng, seed):
    family = str(rng.choice(sorted(NOISES)))
    law = LAWS[family]
    link = _link(rng, family)
    parameters = law.stated(rng)
    weights = np.array(list(SHAPES.values()), float)
    shape = str(rng.choice(list(SHAPES), p=weights / weights.sum()))
    columns = 0 if shape == "no columns" else int(rng.integers(1, 7))
    rows = {
        "few rows": max(2, columns - 1),
        "saturated": columns + 1,
        "one row": 1,
    }.get(shape, int(rng.integers(12, 90)))
    intercept = bool(rng.random() < 0.8)
    domain = law.domain(link, parameters)
    X, slopes, start = _predictor(rng, rows, columns, family, link, domain)
    start = start if intercept else 0.0
    problem = Problem(seed, family, link, parameters, X, np.zeros(rows), Prior(), intercept=intercept, shape=shape)
    _shape_columns(problem, rng)
    _beside(problem, rng, law, domain)
    eta = start + X @ slopes + problem.shift
    if family == "categorical":
        classes = int(rng.integers(2, 5))
        slopes = rng.normal(size=(classes, columns)) * 0.7
        mu = special.softmax(X @ slopes.T + (rng.normal(size=classes) if intercept else 0.0), axis=1)
        problem.y = law.draw(rng, mu, {})
    else:
        mu = LAWS["bernoulli"].mean(eta, link, {}) if family == "bernoulli" else link_parts(link, eta)[0]
        problem.y = np.asarray(law.draw(rng, mu, parameters), float)
        problem.truth = start, slopes
    _shape_target(problem, rng, eta)
    _units(problem, rng)
    _open(problem, rng)
    problem.prior = _prior(problem, rng)
    _container(problem, rng)
    return problem


def _link(rng, family):
    links = [link for link in NOISES[family]._links() if link not in LAWS[family].unfitted]
    usual = NOISES[family].default_link
    return usual if rng.random() < 0.6 else str(rng.choice(links))


def _predictor(rng, rows, columns, family, link, domain):
    """Columns, slopes and intercept whose raw predictions stay in the domain."""
    low, high = domain
    if low == -np.inf and high == np.inf:
        spread = 0.3 if link == "inverse" else 0.6
        start = rng.normal() if link != "inverse" else 2.0
        return rng.normal(size=(rows, columns)), rng.normal(size=columns) * spread, float(start)
    X = rng.uniform(0.2, 1.2, size=(rows, columns))
    if high == 1.0:
        return X, rng.uniform(0.05, 0.6, size=columns) / max(columns, 1), 0.15
    slopes = rng.uniform(0.1, 1.0, size=columns)
    if high == 0.0:
        return X, -slopes / max(columns, 1), -0.2
    return X, slopes, float(rng.uniform(0.5, 1.5))


def _shape_columns(problem, rng):
    X = problem.X
    if not X.shape[1]:
        return
    match problem.shape:
        case "constant column":
            X[:, 0] = rng.choice([0.0, 1.0, 3.7])
        case "duplicate column" if X.shape[1] > 1:
            X[:, -1] = X[:, 0]


def _beside(problem, rng, law, domain):
    rows = len(problem.X)
    whole = problem.family in ("poisson", "bernoulli") or problem.parameters.get("power") == 1
    for what in law.takes:
        if rng.random() > 0.15:
            continue
        match what:
            case "sample_weight":
                problem.sample_weight = (
                    rng.uniform(0.2, 3.0, rows) if rng.random() < 0.5 else rng.integers(1, 4, rows) * 1.0
                )
            case "precision":
                problem.precision = rng.integers(1, 6, rows) * 1.0 if whole else rng.uniform(0.3, 3.0, rows)
            case "offset" if problem.family == "categorical":
                pass  # has the shape of the classes, which are not known yet
            case "offset" if domain == (-np.inf, np.inf) and problem.link != "inverse":
                problem.offset = rng.normal(size=rows) * 0.3
            case "offset" if domain == (0.0, np.inf):
                problem.offset = rng.uniform(0.0, 0.2, rows)
            case "exposure" if problem.link == "log":
                problem.exposure = rng.uniform(0.3, 3.0, rows)


def _shape_target(problem, rng, eta):
    """y as the shape of the problem wants it."""
    y, X, family = problem.y, problem.X, problem.family
    match problem.shape:
        case "constant y":
            y[:] = y[0]
        case "zeros only" if family in ("poisson", "bernoulli", "gaussian", "laplace", "huber", "tweedie"):
            y[:] = 0.0 if problem.parameters.get("power", 1.5) < 2 else y[0]
        case "separated" if X.shape[1]:
            above = X[:, 0] > np.median(X[:, 0])
            if family in ("bernoulli", "categorical"):
                y[:] = above
            elif family == "poisson" or (family == "tweedie" and 1 <= problem.parameters["power"] < 2):
                y[~above] = 0.0
            else:
                y[:] = np.exp(eta) if family == "lognormal" else link_parts(problem.link, eta)[0]
        case "outlier" if LAWS[family].unit is not None and problem.parameters.get("power") != 1:
            y[rng.integers(len(y))] *= 1e4
        case "zero weights":
            weight = np.ones(len(y)) if problem.sample_weight is None else problem.sample_weight
            idle = rng.random(len(y)) < 0.3
            idle[rng.integers(len(y))] = False
            problem.sample_weight = np.where(idle, 0.0, weight)
            if X.shape[1] and rng.random() < 0.6:
                X[idle] *= 10.0 ** rng.integers(3, 12)
        case "scaled columns" | "hugely scaled columns":
            reach = 8 if problem.shape == "scaled columns" else 90
            factors = 10.0 ** rng.uniform(-reach, reach, X.shape[1])
            problem.X = X * factors
            if problem.truth is not None:
                problem.truth = problem.truth[0], problem.truth[1] / factors
        case "far column" if X.shape[1] and problem.intercept:
            move = 10.0 ** rng.integers(3, 7)
            X[:, 0] += move
            if problem.truth is not None:
                problem.truth = problem.truth[0] - move * problem.truth[1][0], problem.truth[1]
    if problem.precision is not None and family == "bernoulli":  # ones among so many trials, stated as a share
        trials = problem.precision.astype(int)
        mixed = problem.shape not in ("constant y", "separated", "zeros only")
        problem.y = (rng.binomial(trials, 0.2 + 0.6 * y) if mixed else trials * y) / trials
    if problem.precision is not None and family == "poisson":  # counts stated as rates
        problem.y = y / problem.precision


def _units(problem, rng):
    """y in another unit."""
    unit = LAWS[problem.family].unit
    free = problem.intercept or problem.link == "identity"
    if unit is None or not free or problem.shape not in ("units", "huge y") or problem.parameters.get("power") == 1:
        return
    factor = 10.0 ** rng.uniform(-6, 6) if problem.shape == "units" else 10.0 ** rng.choice([-200, -120, 120, 200, 300])
    power = problem.parameters.get("power")
    problem.y = problem.y * factor
    grows = {name: (2 - power if exponent == "2 - power" else exponent) for name, exponent in unit.items()}
    problem.parameters = {
        name: value * factor ** grows[name] if value is not None else None for name, value in problem.parameters.items()
    }
    raw = {"identity": factor, "inverse": 1 / factor, "sqrt": factor**0.5}.get(problem.link)
    if problem.offset is not None and raw is not None:
        problem.offset = problem.offset * raw
    if problem.truth is not None:
        start, slopes = problem.truth
        problem.truth = (start + np.log(factor), slopes) if raw is None else (start * raw, slopes * raw)


def _open(problem, rng):
    """Leave parameters of the noise open."""
    parameters = problem.parameters
    if not parameters or rng.random() < 0.4:
        return
    spread = LAWS[problem.family].spread
    if problem.parameters.get("power") != 1:
        parameters[spread] = None
    others = [name for name in parameters if name != spread]
    if others and rng.random() < 0.25:
        if problem.family == "tweedie" and not 1 < parameters["power"] < 2:
            return
        parameters[others[0]] = None


def _prior(problem, rng):
    columns = problem.X.shape[1]
    width = float(10.0 ** rng.uniform(-1.5, 1.0))
    if problem.truth is not None and columns and problem.shape != "far column":
        width *= float(np.mean(np.abs(problem.truth[1])) + 1e-300)
    if not np.isfinite(width) or problem.shape == "hugely scaled columns":
        width = 1.0
    if columns and rng.random() < 0.12:
        scales = np.where(rng.random(columns) < 0.3, np.inf, width * rng.uniform(0.3, 3.0, columns))
        return Prior(gaussian=scales) if rng.random() < 0.5 else Prior(laplace=scales)
    kind = rng.choice(
        ["flat", "gaussian", "laplace", "both", "around", "kinked around", "learned gaussian", "learned laplace"],
        p=[0.46, 0.16, 0.14, 0.07, 0.04, 0.04, 0.07, 0.02],
    )
    return {
        "flat": Prior(),
        "gaussian": Prior(gaussian=width),
        "laplace": Prior(laplace=width),
        "both": Prior(gaussian=width, laplace=2 * width),
        "around": Prior(gaussian=width, gaussian_loc=0.5 * width),
        "kinked around": Prior(laplace=width, laplace_loc=0.3 * width),
        "learned gaussian": Prior(gaussian=None),
        "learned laplace": Prior(laplace=None),
    }[str(kind)]


def _container(problem, rng):
    """The form in which X comes; tables may have a factor beside the numbers."""
    draw = rng.random()
    if draw < 0.04 and len(problem.y) > 5 and problem.shape != "huge y":
        problem.container = str(rng.choice(FILES))
    elif draw < 0.3 and problem.X.shape[1]:
        problem.container = str(rng.choice(TABLES))
    else:
        problem.container = str(rng.choice(ARRAYS))
    if problem.container == "float32":
        if problem.shape == "hugely scaled columns":
            problem.container = "c"
        else:
            problem.X = problem.X.astype(np.float32).astype(float)
    if problem.is_table and not problem.prior.by_column and len(problem.y) > 11 and rng.random() < 0.5:
        problem.codes = np.concatenate([np.arange(3), rng.integers(0, 3, len(problem.y) - 3)])


# ---- spoiling them ---------------------------------------------------------------------------------------------------


def _at(values, place, value):
    values = np.array(values, float)
    values[place] = value
    return values


def _spoiled(problem, rng):
    """The problem with one thing wrong, where that is possible."""
    row = int(rng.integers(len(problem.y)))
    rows, columns = problem.X.shape
    cell = row, int(rng.integers(max(columns, 1)))
    labels = problem.family == "categorical"
    bad = rng.choice([np.nan, np.inf, -np.inf])
    in_memory = problem.container not in FILES

    def of(**fields):
        return replace(problem, **fields)

    def call(**changes):
        return replace(problem, changes=changes)

    ways = {}
    if columns:
        ways["X not finite"] = lambda: of(X=_at(problem.X, cell, bad))
        ways["X not finite in a row of weight 0"] = lambda: of(
            X=_at(problem.X, cell, bad), sample_weight=_at(np.ones(rows), row, 0.0) if rows > 1 else None
        )
    if not labels:
        ways["y not finite"] = lambda: of(y=_at(problem.y, row, bad))
    if in_memory:
        ways["y too short"] = lambda: call(y=lambda a: np.asarray(a["y"])[:-1])
        ways["y too long"] = lambda: call(y=lambda a: np.append(a["y"], a["y"][0]))
        ways["no rows"] = lambda: call(X=lambda a: np.empty((0, max(columns, 1))), y=lambda a: np.empty(0))
        ways["X of one dimension"] = lambda: call(X=lambda a: np.zeros(rows))
        ways["X of text"] = lambda: call(X=lambda a: np.full((rows, 1), "some"))
        ways["X complex"] = lambda: call(X=lambda a: np.ones((rows, 1)) * 1j)
        ways["weights too short"] = lambda: call(sample_weight=lambda a: np.ones(rows + 1))
        ways["offset too short"] = lambda: call(offset=lambda a: np.ones(rows + 1))
        ways["y of two columns"] = lambda: call(y=lambda a: np.ones((rows, 2)))
        ways["y of nothing"] = lambda: call(y=lambda a: None)
    ways["weight negative"] = lambda: of(sample_weight=_at(np.ones(rows), row, -1.0))
    ways["weight not finite"] = lambda: of(sample_weight=_at(np.ones(rows), row, bad))
    ways["weights all 0"] = lambda: of(sample_weight=np.zeros(rows))
    ways["precision of 0"] = lambda: of(precision=_at(np.ones(rows), row, 0.0))
    ways["precision not finite"] = lambda: of(precision=_at(np.ones(rows), row, bad))
    if not labels:
        ways["offset not finite"] = lambda: of(offset=_at(np.zeros(rows), row, bad))
    if problem.link == "log":
        ways["exposure of 0"] = lambda: of(exposure=_at(np.ones(rows), row, 0.0))
    else:
        ways["exposure without a log link"] = lambda: of(exposure=np.ones(rows))
    ways["noise no noise"] = lambda: call(noise=lambda a: "noise")
    ways["prior no prior"] = lambda: call(prior=lambda a: 3.0)
    ways["prior of wrong length"] = lambda: call(prior=lambda a: nl.Gaussian(scale=np.ones(len(problem.names) + 2)))
    ways["tol of 0"] = lambda: call(tol=lambda a: 0.0)
    ways["max_iter of 0"] = lambda: call(max_iter=lambda a: 0)
    ways["missing unknown"] = lambda: call(missing=lambda a: "perhaps")
    outside = LAWS[problem.family].outside
    if problem.family == "tweedie" and problem.parameters["power"] == 0:
        outside = ()
    if problem.family in ("poisson", "bernoulli") and problem.precision is not None:
        outside = (-1.0,)
    if outside:
        ways["y outside the support"] = lambda: of(y=_at(problem.y, row, rng.choice(outside)))
    if LAWS[problem.family].unfitted:
        ways["link that is not fitted"] = lambda: of(link=str(rng.choice(LAWS[problem.family].unfitted)), exposure=None)
    if problem.container == "pandas":
        ways["two columns of one name"] = lambda: call(X=lambda a: pandas.concat([a["X"], a["X"]], axis=1))
        ways["y names no column"] = lambda: call(y=lambda a: "nowhere")
    if problem.codes is not None and problem.container == "pandas":
        ways["a level missing"] = lambda: call(
            X=lambda a: a["X"].assign(g=a["X"]["g"].astype(object).where(np.arange(rows) != row))
        )
    names = sorted(ways)
    name = str(rng.choice(names))
    spoiled = ways[name]()
    spoiled.invalid = name
    return spoiled
