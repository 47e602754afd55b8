"""Makes claims of a motor insurer, 40,000 policies, into a Parquet file: `python make_claims.py claims.parquet`.

The truth: claims a year fall with the driver's age and rise again, grow with the power of the car and differ by region,
more in some than in others; they vary more than counts of independent accidents would.
"""

import sys

import numpy as np
import pyarrow as pa
from pyarrow import parquet

ROWS, REGIONS = 40_000, 60


def claims(rng: np.random.Generator) -> pa.Table:
    """The policies."""
    age = np.clip(rng.gamma(6.0, 8.0, ROWS), 18, 90).round()
    power = rng.integers(4, 16, ROWS).astype(float)
    region = rng.choice(REGIONS, ROWS, p=rng.dirichlet(np.full(REGIONS, 0.8)))
    fuel = rng.choice(["diesel", "petrol"], ROWS, p=[0.4, 0.6])
    years = np.where(rng.random(ROWS) < 0.6, 1.0, rng.uniform(0.05, 1.0, ROWS)).round(2)
    effects = rng.normal(0, 0.35, REGIONS)
    young = 1.1 * np.exp(-(age - 18) / 8) + 0.00025 * np.maximum(age - 60, 0) ** 2
    rate = 0.09 * np.exp(young + 0.05 * (power - 7) + 0.15 * (fuel == "diesel") + effects[region])
    counts = rng.poisson(rng.gamma(1.5, years * rate / 1.5))
    columns = {"claims": counts, "years": years, "age": age, "power": power, "fuel": fuel}
    return pa.table(columns | {"region": [f"region {k:02d}" for k in region]})


if __name__ == "__main__":
    parquet.write_table(claims(np.random.default_rng(7)), sys.argv[1])
