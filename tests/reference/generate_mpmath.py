"""Rewrite the reference numbers beside this file with mpmath: python generate_mpmath.py [file stem ...]"""

import json
import sys
import time
from pathlib import Path

import cases
import mpmath
import oracle_information as information
import oracle_laws as laws
import oracle_tweedie as tweedie
from mpmath import mp, mpf, nstr

mp.dps = 80  # at least 50 digits remain after the worst cancellation (terms of 1e11 in a value near 1)


def digits(x):
    return nstr(mpf(x), 20)


def densities():
    for family, parameters, y in cases.densities():
        exact = laws.exact(parameters)
        at = [mpf(x) for x in y] if isinstance(y, list) else mpf(y)
        row = {"family": family, "parameters": parameters, "y": y, "nll": digits(laws.NLL[family](at, **exact))}
        if family in laws.TAILS:
            row["cdf"], row["sf"] = map(digits, laws.TAILS[family](at, **exact))
        yield row


def eta():
    for family, parameters, link, y, eta in cases.predictors():
        result = laws.in_eta(family, laws.exact(parameters), link, mpf(y), mpf(eta))
        names = ("nll", "gradient", "hessian", "expected_hessian")
        row = {"family": family, "parameters": parameters, "link": link, "y": y, "eta": eta}
        yield row | dict(zip(names, map(digits, result), strict=True))


def tweedie_rows():
    for mean, power, dispersion, y in cases.tweedie_points():
        point = mpf(y), mpf(mean), mpf(power), mpf(dispersion)
        d_mean, d_dispersion, d_power = map(digits, tweedie.gradient(*point))
        row = {"mean": mean, "power": power, "dispersion": dispersion, "y": y, "nll": digits(tweedie.nll(*point))}
        yield row | {"d_mean": d_mean, "d_dispersion": d_dispersion, "d_power": d_power}


def tweedie_cdf():
    for mean, power, dispersion, y in cases.tweedie_tail_points():
        lower, upper = map(digits, tweedie.tails(mpf(y), mpf(mean), mpf(power), mpf(dispersion)))
        yield {"mean": mean, "power": power, "dispersion": dispersion, "y": y, "cdf": lower, "sf": upper}


def entropy():
    for family, parameters in cases.entropies():
        value = information.ENTROPY[family](**laws.exact(parameters))
        yield {"family": family, "parameters": parameters, "entropy": digits(value)}


def kl():
    for family_p, p, family_q, q in cases.pairs():
        value = information.kl(family_p, laws.exact(p), family_q, laws.exact(q))
        left, right = {"family": family_p, "parameters": p}, {"family": family_q, "parameters": q}
        yield {"p": left, "q": right, "kl": digits(value)}


FILES = {
    "densities": densities,
    "eta": eta,
    "tweedie": tweedie_rows,
    "tweedie_cdf": tweedie_cdf,
    "entropy": entropy,
    "kl": kl,
}


def write(name):
    """One case per line, so that a changed number is a changed line."""
    rows = [json.dumps(row, allow_nan=False) for row in FILES[name]()]
    header = {"tool": f"mpmath {mpmath.__version__}", "generator": "generate_mpmath.py"}
    text = json.dumps(header)[:-1] + ', "cases": [\n' + ",\n".join(rows) + "\n]}\n"
    Path(__file__).with_name(f"{name}.json").write_text(text)
    return len(rows)


if __name__ == "__main__":
    for name in sys.argv[1:] or FILES:
        start = time.perf_counter()
        count = write(name)
        print(f"{name}.json: {count} cases in {time.perf_counter() - start:.0f} s")
