"""Curves, groups and modelled scales against mgcv, lme4, glmmTMB and pyGAM: `python benchmarks/terms.py` prints them.

R measures its own time, without the start of its process. Where a rival tells its smoothing parameters, the evidence
that neglog's criterion has there is compared with that of neglog's own: what it is less by, relative to the whole.
"""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import data
import numpy as np
import pandas as pd
from rivals.r_models import installed

import neglog as nl
from neglog.design.splines import _bending
from neglog.evidence.learned_terms import _native, _owned, _search
from neglog.evidence.state import Pulls
from neglog.fitting.fit import prepare

COLUMNS = ("problem", "neglog ms", "rival", "its ms", "ratio", "wanted", "its evidence is less by")
SCRIPT = Path(__file__).parent / "rivals" / "terms.R"
PATIENCE = 900  # seconds
ROUNDS = 3
NOTHING = dict.fromkeys(("sample_weight", "precision", "offset", "exposure"))


def curves(n: int) -> pd.DataFrame:
    """Ten columns, each with a curve of its own, and counts."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 10))
    eta = 0.2 + 0.5 * sum(np.sin(1.5 * (k + 1) * X[:, k]) / (k + 1) for k in range(10))
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(10)]).assign(y=rng.poisson(np.exp(eta)))


def groups(n: int, levels: int, noise: str) -> pd.DataFrame:
    """A factor of many levels beside two columns."""
    rng = np.random.default_rng(0)
    codes, effects = rng.integers(0, levels, n), rng.normal(0, 0.5, levels)
    table = pd.DataFrame({"x": rng.normal(size=n), "z": rng.uniform(size=n)})
    table["g"] = pd.Categorical.from_codes(codes, [f"l{k}" for k in range(levels)])
    eta = 0.3 + 0.4 * table.x + 0.5 * table.z + effects[codes]
    return table.assign(y=rng.poisson(np.exp(eta)) if noise == "poisson" else eta + rng.normal(size=n))


def crossed(n: int, levels: int) -> pd.DataFrame:
    """Two factors of many levels, every row with one of each at random."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, levels, (2, n))
    table = pd.DataFrame({"x": rng.normal(size=n)})
    for name, own in zip("gh", codes, strict=True):
        table[name] = pd.Categorical.from_codes(own, [f"l{k}" for k in range(levels)])
    effects = rng.normal(0, 0.5, (2, levels))
    return table.assign(y=0.3 + 0.4 * table.x + effects[0][codes[0]] + effects[1][codes[1]] + rng.normal(size=n))


def motor() -> pd.DataFrame:
    """French motor policies: four numbers, five factors, numbers of claims and years of exposure."""
    policies = pd.read_parquet(data.located("freMTPL2freq.parquet"))
    table = policies[["DrivAge", "VehAge", "BonusMalus"]].astype(float)
    table["LogDensity"] = np.log(policies["Density"].astype(float))
    for name in ("Area", "VehPower", "VehBrand", "VehGas", "Region"):
        table[name] = policies[name].astype(str).astype("category")
    return table.assign(y=policies["ClaimNb"].clip(upper=4), exposure=policies["Exposure"].clip(upper=1))


def best(run: Callable[[], Any], rounds: int = ROUNDS) -> tuple[float, Any]:
    """The least time of several, in seconds, and what came out."""
    least, found = np.inf, None
    for _ in range(rounds):
        begin = time.perf_counter()
        found = run()
        least = min(least, time.perf_counter() - begin)
    return least, found


def by_r(table: pd.DataFrame, problem: str, package: str) -> tuple[float, np.ndarray] | str:
    """Seconds and what the package found, or why it did not."""
    if not installed(package):
        return "not installed"
    folder = Path(tempfile.mkdtemp(prefix="neglog-bench-"))
    try:
        table.to_csv(folder / "table.csv", index=False)
        subprocess.run(
            ["Rscript", str(SCRIPT), str(folder), problem, package, "2"],
            check=True,
            capture_output=True,
            timeout=PATIENCE,
        )
        seconds, *found = np.fromfile(folder / "answer")
        return float(seconds), np.array(found)
    except subprocess.TimeoutExpired:
        return f"took more than {PATIENCE} s"
    except subprocess.CalledProcessError as error:
        return f"failed: {error.stderr.decode().strip().splitlines()[-1][:80]}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def by_pygam(table: pd.DataFrame) -> tuple[float, np.ndarray] | str:
    """With its default smoothing, one fit: a grid of smoothing parameters would take as many."""
    try:
        from pygam import PoissonGAM, s
    except ImportError as error:
        return f"not installed ({error})"
    X, y = table.drop(columns="y").to_numpy(), table.y.to_numpy()
    terms = s(0, n_splines=20)
    for k in range(1, X.shape[1]):
        terms += s(k, n_splines=20)
    begin = time.perf_counter()
    PoissonGAM(terms).fit(X, y)
    return time.perf_counter() - begin, np.empty(0)


def lost(table: pd.DataFrame, fit: Any, terms: Any, lambdas: np.ndarray) -> str:
    """What the evidence is less by at a rival's smoothing parameters, relative to the whole."""
    given = {**NOTHING, "exposure": "exposure"} if "exposure" in table else NOTHING
    task = prepare(table, "y", fit.noise, nl.Flat(), given, True, 1e-6, 100, terms=terms)
    owned = list(_owned(task, nl.Flat(), None))
    on = np.array([_native(task.engine, one) for one in owned])
    search = _search(task, Pulls(np.zeros(task.engine.width), on, np.zeros(task.engine.width)))
    splines = [part.variables[0].spline for part in task.engine.design.schema.parts if hasattr(part, "variables")]
    bending = [float(one.turn[:, 1] @ _bending(np.array(one.knots)) @ one.turn[:, 1]) for one in splines]
    theirs = search.at(-0.5 * np.log(lambdas * np.array(bending)), None)
    least = np.log(1e-8)
    own = [max(np.log(scale.scale) if scale.scale > 0 else least, least) for scale in fit._answer.scales]
    ours = search.at(np.array(own), theirs)
    return f"{(ours.value - theirs.value) / abs(ours.value):.0e}"


def line(
    name: str, seconds: float, rival: str, found: tuple[float, np.ndarray] | str, wanted: str, gap: str = ""
) -> tuple[str, ...]:
    """One line of the table."""
    if isinstance(found, str):
        return name, f"{1e3 * seconds:.0f}", f"{rival}: {found}", "", "", wanted, ""
    return name, f"{1e3 * seconds:.0f}", rival, f"{1e3 * found[0]:.0f}", f"{found[0] / seconds:.1f}", wanted, gap


def lines(size: Any, tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """All problems."""
    sizes = (10_000,) if size.quick else (10_000, 100_000, 1_000_000)
    nl.fit(curves(500), "y", nl.Poisson(), terms="smooth")  # what is imported once
    for n in sizes:
        table, terms = curves(n), [nl.smooth(f"x{k}") for k in range(10)]
        name = f"ten curves of 20 knots, Poisson, {n:,}"
        tell(name)
        seconds, fit = best(lambda table=table, terms=terms: nl.fit(table, "y", nl.Poisson(), terms=terms))
        rival = "mgcv gam, REML" if n <= 20_000 else "mgcv bam, discrete"
        found = by_r(table, "curves", "mgcv")
        gap = "" if isinstance(found, str) else lost(table, fit, terms, found[1])
        yield line(name, seconds, rival, found, "≥ 5" if n <= 20_000 else "≥ 10", gap)
        if n == 10_000:
            yield line(name, seconds, "pyGAM, smoothing not chosen", by_pygam(table), "≥ 20")
    if not size.quick:
        yield from _motor(tell)
    for n, levels in ((10_000, 1_000),) if size.quick else ((100_000, 10_000), (1_000_000, 100_000)):
        for noise, law, packages in (
            ("poisson", nl.Poisson(), ("glmmTMB", "lme4")),
            ("gaussian", nl.Gaussian(), ("lme4", "glmmTMB")),
        ):
            table, name = groups(n, levels, noise), f"group of {levels:,} levels, {noise}, {n:,}"
            tell(name)
            terms = ["x", "z", nl.group("g")]
            seconds, fit = best(lambda table=table, law=law, terms=terms: nl.fit(table, "y", law, terms=terms))
            for package in packages:
                if n > 100_000 and (package, noise) != ("lme4", "gaussian"):
                    yield line(name, seconds, package, "not tried at this size", "")
                    continue
                found = by_r(table, f"{noise}_groups", package)
                note = "" if isinstance(found, str) else f"scales {fit.terms['g'].scale:.4f} and {found[1][0]:.4f}"
                yield line(name, seconds, package, found, "≥ 20", note)
    for n, levels in ((20_000, 500),) if size.quick else ((100_000, 2_000), (1_000_000, 10_000)):
        table, name = crossed(n, levels), f"two groups of {levels:,} levels that cross, gaussian, {n:,}"
        tell(name)
        terms = ["x", nl.group("g"), nl.group("h")]
        seconds, fit = best(lambda table=table, terms=terms: nl.fit(table, "y", nl.Gaussian(), terms=terms), 1)
        found = by_r(table, "gaussian_crossed", "lme4")
        own = sorted(fit.terms[name].scale for name in "gh")
        theirs = [] if isinstance(found, str) else sorted(found[1][:2])
        note = " and ".join(str(np.round(scales, 4)) for scales in (own, theirs) if scales)
        yield line(name, seconds, "lme4", found, "≥ 2", f"scales {note}")
    yield _two_predictors(10_000 if size.quick else 1_000_000, tell)


def _motor(tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    table = motor()
    numbers = [name for name in table if name not in ("y", "exposure") and table[name].dtype.kind in "iuf"]
    terms = [nl.smooth(name, size=10) if name in numbers else name for name in table if name not in ("y", "exposure")]
    for problem, noise in (("motor", nl.Poisson()), ("motor_nb", nl.NegativeBinomial())):
        name = f"French motor claims, {len(numbers)} curves and factors, {type(noise).__name__}, {len(table):,}"
        tell(name)
        seconds, _ = best(lambda noise=noise: nl.fit(table, "y", noise, terms=terms, exposure="exposure"))
        yield line(name, seconds, "mgcv bam, discrete", by_r(table, problem, "mgcv"), "≥ 5")


def _two_predictors(n: int, tell: Callable[[str], None]) -> tuple[str, ...]:
    """Location and scale over the same columns, against the location alone."""
    name = f"location and scale, {n:,} × 20 each"
    tell(name)
    X, y = data.dense("gaussian", n, 20)
    both, _ = best(lambda: nl.fit(X, y, nl.Gaussian(scale="model")))
    alone, _ = best(lambda: nl.fit(X, y, nl.Gaussian()))
    return (
        name,
        f"{1e3 * both:.0f}",
        "our location alone",
        f"{1e3 * alone:.0f}",
        f"{both / alone:.1f} times",
        "≤ 4 times",
        "",
    )


GROUPS = {"terms": lines}


if __name__ == "__main__":
    import fits

    for found in lines(fits.Size(False), print):
        print(" | ".join(found), flush=True)
