"""One table in every dataframe library and every way in which it can hold it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

COLUMNS = {
    "Age": [31.5, 52.0, 18.25, 44.0],
    "Area": ["C", "A", "B", "C"],
    "Cars": [1, 2, 1, 3],
    "Urban": [True, False, True, True],
}
NUMBERS = {name: np.array(COLUMNS[name], float) for name in ("Age", "Cars", "Urban")}
CODES, LEVELS = [2, 0, 1, 2], ("A", "B", "C")


def pandas_numpy():
    return pd.DataFrame(COLUMNS)


def pandas_object():
    return pd.DataFrame(COLUMNS).astype({"Area": object, "Cars": object, "Urban": object})


def pandas_nullable():
    return pd.DataFrame(COLUMNS).astype({"Age": "Float64", "Area": "string", "Cars": "Int32", "Urban": "boolean"})


def pandas_arrow():
    types = {"Age": "double", "Area": "string", "Cars": "int16", "Urban": "bool"}
    return pd.DataFrame(COLUMNS).astype({name: f"{dtype}[pyarrow]" for name, dtype in types.items()})


def pandas_arrow_dictionary():
    dictionary = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    return pandas_arrow().assign(Area=pd.Series(pa.array(COLUMNS["Area"]).dictionary_encode(), dtype=dictionary))


def pandas_category():
    return pd.DataFrame(COLUMNS).assign(Area=pd.Categorical(COLUMNS["Area"], categories=list("CBAZ")))


def pandas_ordered():
    return pd.DataFrame(COLUMNS).assign(Area=pd.Categorical(COLUMNS["Area"], categories=list("CABZ"), ordered=True))


def polars_string():
    return pl.DataFrame(COLUMNS)


def polars_categorical():
    # polars shares one table of categories: these codes do not start at 0
    pl.Series(["Q", "C", "Z"], dtype=pl.Categorical)
    return pl.DataFrame(COLUMNS).with_columns(pl.col("Area").cast(pl.Categorical), pl.col("Cars").cast(pl.UInt8))


def polars_enum():
    return pl.DataFrame(COLUMNS).with_columns(pl.col("Area").cast(pl.Enum(list("CZAB"))), pl.col("Cars").cast(pl.Int8))


def polars_chunked():
    frame = pl.DataFrame(COLUMNS)
    return pl.concat([frame[:1], frame[1:]], rechunk=False)


def arrow_string():
    return pa.table(COLUMNS)


def arrow_dictionary():
    """In two chunks with a dictionary each."""
    areas = pa.chunked_array(
        [pa.array(COLUMNS["Area"][:2]).dictionary_encode(), pa.array(COLUMNS["Area"][2:]).dictionary_encode()]
    )
    return pa.table({**COLUMNS, "Area": areas})


def arrow_large_string():
    return pa.table({**COLUMNS, "Area": pa.array(COLUMNS["Area"], pa.large_string())})


FRAMES = [
    pandas_numpy,
    pandas_object,
    pandas_nullable,
    pandas_arrow,
    pandas_arrow_dictionary,
    pandas_category,
    pandas_ordered,
    polars_string,
    polars_categorical,
    polars_enum,
    polars_chunked,
    arrow_string,
    arrow_dictionary,
    arrow_large_string,
]
