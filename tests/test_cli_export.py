"""What is taken elsewhere and explained from the shell."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv, parquet
from test_cli import run, visits

import neglog as nl
from neglog.overview import entries, rows

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def folder(tmp_path):
    parquet.write_table(visits(), tmp_path / "visits.parquet")
    options = ("--target", "visits", "--noise", "poisson", "--exposure", "years", "--without", "id")
    run("fit", tmp_path / "visits.parquet", *options, "--save", tmp_path / "m.json")
    return tmp_path


def test_a_query_that_sqlite_answers(folder):
    printed = run("export", folder / "m.json", "--sql", "--dialect", "sqlite", "--table", "seen", "--keep", "id").stdout
    run("export", folder / "m.json", "--sql", "--dialect", "sqlite", "--table", "seen", "--keep", "id",
        "-o", folder / "query.sql", "--relativities", folder / "tariff.csv")  # fmt: skip
    assert (folder / "query.sql").read_text() == printed
    table = visits()
    rows = zip(*table.to_pydict().values(), strict=True)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE seen (id, age, region, years, visits)")
        connection.executemany("INSERT INTO seen VALUES (?, ?, ?, ?, ?)", rows)
        found = np.array(connection.execute(printed).fetchall())
    np.testing.assert_allclose(found[:, 1], nl.load(folder / "m.json").predict(table), rtol=1e-12)
    assert csv.read_csv(folder / "tariff.csv").column_names[:4] == ["term", "kind", "against", "level"]


def test_a_fit_writes_its_relativities(folder):
    run(
        "fit", folder / "visits.parquet", "--target", "visits", "--noise", "poisson", "--relativities", folder / "r.csv"
    )
    assert "region" in csv.read_csv(folder / "r.csv")["term"].to_pylist()


def test_a_check_says_what_the_model_misses(folder):
    pytest.importorskip("matplotlib")
    done = run("check", folder / "m.json", folder / "visits.parquet", "-o", folder / "check.png").stdout
    table = parquet.read_table(folder / "visits.parquet")
    assert nl.load(folder / "m.json").check(table).text.split(". ")[0] in re.sub(r"\s+", " ", done)
    assert (folder / "check.png").read_bytes()[:4] == b"\x89PNG"


def test_what_cannot_be_exported(folder):
    assert "say what to write: --sql" in re.sub(r"[\s│]+", " ", run("export", folder / "m.json", expect=2).stderr)
    done = run("export", folder / "m.json", "--sql", "--quantiles", ".9", expect=1)
    assert "neglog: the quantile 0.9 of Poisson" in done.stderr
    assert "neglog: --dialect must be one of duckdb" in run(
        "export", folder / "m.json", "--sql", "--dialect", "oracle", expect=1
    ).stderr  # fmt: skip
    assert "no directory" in run("export", folder / "m.json", "--relativities", "/none/r.csv", expect=1).stderr


def test_a_model_is_explained_in_words(folder):
    text = run("explain", folder / "m.json").stdout
    assert re.search(r"×1\.03 per age, 1\.0\d to 1\.0\d\n", text)
    assert "region, as factors, against the level north" in text
    assert re.search(r"×\d\.\d\d for region\[south\], \d\.\d\d to \d\.\d\d\n", text)


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row.family)
def test_every_family_is_explained(row):
    """By its docstring, whose entries are complete and whose page is there."""
    found = entries(row.law)
    assert {"Density", "Use", "Page"} <= set(found)
    assert (DOCS / f"{found['Page']}.md").exists()
    if row.as_noise:
        assert {"Link", "Loss", "Not"} <= set(found)


@pytest.mark.parametrize(
    "name", ["gamma", "GAMMA", "negativebinomial", "student-t", "student_t", "hurdle", "log(huber)"]
)
def test_families_are_found_however_they_are_written(name):
    text = run("explain", name).stdout
    assert "Density" in text
    assert "Handbook" in text


def test_what_gamma_is():
    text = run("explain", "gamma").stdout
    for told in (
        "Gamma: Positive amounts",
        "half the unit deviance",
        "mean of y",
        "claim sizes",
        "docs/losses/gamma.md",
    ):
        assert told in text
    done = run("explain", "gama", expect=1)
    assert "no file and no family 'gama'" in done.stderr
    assert "did you mean 'Gamma'?" in done.stderr


def test_families_say_what_they_are_for():
    text = run("families").stdout
    assert "use it where" in text
    assert "counts of rare events" in text
    assert "entropy" not in text


def test_unknown_columns_are_guessed(folder):
    base = ("fit", folder / "visits.parquet", "--noise", "poisson", "--target")
    for arguments in (
        ("vists",),
        ("visits", "--exposure", "Yeras"),
        ("visits", "--smooth", "agee"),
        ("visits", "--group", "regoin"),
    ):
        assert re.search(r"; did you mean '(visits|years|age|region)'\?", run(*base, *arguments, expect=1).stderr)
    table = visits()
    with pytest.raises(ValueError, match="did you mean 'age'"):
        nl.fit(table, "visits", nl.Poisson(), terms=["Age"])
    with pytest.raises(ValueError, match="did you mean 'years'"):
        nl.fit(table, "visits", nl.Poisson(), exposure="year")
    with pytest.raises(ValueError, match="did you mean 'region'"):
        nl.fit(table, "visits ~ age + regions", nl.Poisson())
    fit = nl.load(folder / "m.json")
    with pytest.raises(ValueError, match=r"X lacks the columns 'age'.*did you mean 'aged'"):
        fit.predict(table.rename_columns(["id", "aged", "region", "years", "visits"]))
    with pytest.raises(KeyError, match="did you mean 'region'"):
        fit.effect("regino")


@pytest.mark.parametrize("option", ["--event", "--lower", "--upper", "--smooth", "--group", "--model", "--exposure"])
def test_help_has_an_example_of_each_option(option):
    examples = run("fit", "--help").stdout.partition("Examples:")[2]
    assert f"{option} " in examples
