"""Write doctor_visits.parquet from the copy of the RAND data that statsmodels has."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from statsmodels.datasets import randhie

NAMES = {
    "mdvis": "visits",
    "lncoins": "log_coinsurance",
    "idp": "individual_deductible",
    "lpi": "log_incentive",
    "fmde": "log_expenditure_limit",
    "physlm": "physical_limitation",
    "disea": "chronic_diseases",
}


def main() -> None:
    """Rename the columns and make one of the three that say how the person judged their health."""
    data = randhie.load_pandas().data
    columns = {ours: data[theirs].to_numpy() for theirs, ours in NAMES.items()}
    columns["visits"] = columns["visits"].astype(np.int32)
    judged = [data[name].to_numpy() == 1 for name in ("hlthg", "hlthf", "hlthp")]
    columns["health"] = np.select(judged, ["good", "fair", "poor"], "excellent")
    path = Path(__file__).with_name("doctor_visits.parquet")
    parquet.write_table(pa.table(columns), path, compression="zstd", compression_level=19)


if __name__ == "__main__":
    main()
