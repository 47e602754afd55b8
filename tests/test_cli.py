"""The command line as a person meets it: in a process of its own."""

import html
import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import neglog as nl


def run(*arguments, expect=0, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "neglog", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return done


def visits(n=600, seed=0):
    rng = np.random.default_rng(seed)
    age, region, years = rng.uniform(20, 80, n), rng.choice(["north", "south", "west"], n), rng.uniform(0.2, 1, n)
    mean = years * np.exp(-1 + 0.03 * age + 0.5 * (region == "south"))
    columns = {"id": np.arange(n), "age": age, "region": region, "years": years, "visits": rng.poisson(mean)}
    return pa.table(columns)


@pytest.fixture
def folder(tmp_path):
    parquet.write_table(visits(), tmp_path / "visits.parquet")
    csv.write_csv(visits(), tmp_path / "visits.csv", csv.WriteOptions(delimiter=";"))
    return tmp_path


def test_help_teaches_by_examples():
    text = run("--help").stdout
    assert all(command in text for command in ("compare", "fit", "predict", "explain", "families"))
    assert "neglog compare visits.parquet --target visits" in run("compare", "--help").stdout
    assert nl.__version__ in run("--version").stdout
    assert "Tweedie" in run("families").stdout


def test_help_needs_no_numpy():
    code = "import sys, neglog.cli; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["visits.parquet", "visits.csv"])
def test_compare_prints_an_answer(folder, name):
    done = run("compare", folder / name, "--target", "visits", "--exposure", "years", NO_COLOR="1")
    assert re.search(r"Poisson explains visits best|Poisson[\w\s,()=.]* explain\s+visits\s+equally", done.stdout)
    assert "id: left out, since it is different in every row" in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def test_compare_for_machines(folder):
    done = run("compare", folder / "visits.parquet", "--target", "visits", "--noise", "poisson,gaussian", "--json")
    found = json.loads(done.stdout)
    assert [record["noise"] for record in found["table"]] == ["Poisson", "Gaussian"]
    assert found["rows"] == 600
    assert len(found["deciles"]["Poisson"]["observed"]) == 10


OPTIONS = {
    "rows": ("--exposure", "years", "--weight", "times", "--offset", "shift", "--missing", "drop", "--rare", "50",
             "--without", "region", "--keep", "id", "--noise", "poisson,gaussian"),
    "laws": ("--noise", "gaussian(link='log'),laplace", "--prior", "gaussian(scale=0.5) * laplace(scale=2)"),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_the_line_that_compare_prints_gives_the_fit_of_the_report(folder, name):
    rng = np.random.default_rng(5)
    age = visits()["age"].to_pylist()
    table = visits().append_column("times", pa.array(rng.integers(1, 3, 600)))
    table = table.append_column("shift", pa.array(rng.normal(size=600) / 9))
    if name == "rows":
        place = table.column_names.index("age")
        table = table.set_column(place, "age", pa.array([None if i % 9 == 0 else a for i, a in enumerate(age)]))
    file = folder / "the visits.parquet"
    parquet.write_table(table, file)
    given = OPTIONS[name]
    report = folder / "report.html"
    printed = run("compare", file, "--target", "visits", *given, "--folds", 2, "--report", report).stdout
    line = next(line for line in printed.splitlines() if line.startswith("From the shell: "))
    words = shlex.split(line.removeprefix("From the shell: "))
    assert words[:2] == ["neglog", "fit"]
    done = run(*words[1:])
    page = html.unescape(report.read_text(encoding="utf-8"))
    names = re.findall(r"^│ (\S+) ", done.stdout, re.M)
    assert "intercept" in names
    assert all(f'<td class="text">{name}</td>' in page for name in names)
    assert line.removeprefix("From the shell: ") in page
    if name == "laws":
        found = json.loads(run("compare", file, "--target", "visits", *given, "--folds", 2, "--json").stdout)
        assert found["command"] == line.removeprefix("From the shell: ")
        assert found["call"] in page


def test_identifiers_are_found_by_their_values(folder):
    rng = np.random.default_rng(0)
    table = visits().append_column("instant", pa.array(np.arange(600) + 1))
    table = table.append_column("POLICYNO", pa.array(10**9 + rng.permutation(10**6)[:600] * 977))
    table = table.append_column("drawn", pa.array(rng.permutation(5000)[:600].astype(float)))
    table = table.append_column("wage", pa.array(np.round(rng.normal(30_000, 4_000, 600))))
    parquet.write_table(table, folder / "ids.parquet")
    arguments = ("fit", folder / "ids.parquet", "--target", "visits", "--noise", "poisson")
    text = run(*arguments).stdout
    left = {line.split(":")[0] for line in text.splitlines() if "left out, since" in line}
    assert left == {"id", "instant", "POLICYNO", "drawn"}
    assert "wage" in text
    assert "instant: left out" not in run(*arguments, "--keep", "instant").stdout


def test_leaks_are_said(folder):
    table = visits()
    seen = np.asarray(table["visits"])
    table = table.append_column("first", pa.array(seen // 2)).append_column("later", pa.array(seen - seen // 2))
    parquet.write_table(table, folder / "leak.parquet")
    done = run("compare", folder / "leak.parquet", "--target", "visits", "--noise", "poisson,gaussian", "--folds", 2)
    assert "is visits in every row, a leak" in " ".join(done.stdout.split())


def test_levels_are_shown_less_their_mean_or_raw(folder):
    arguments = ("--target", "visits", "--noise", "poisson", "--prior", "gaussian", "--save", folder / "m.json")
    shown = run("fit", folder / "visits.parquet", *arguments).stdout
    assert "differences from the mean of their factor" in shown
    assert shown.split("┡")[1].split("└")[0] in run("explain", folder / "m.json").stdout
    raw = run("explain", folder / "m.json", "--raw").stdout
    assert "differences from the mean" not in raw
    assert f"{nl.load(folder / 'm.json').coef[1]:.5g}" in raw


def test_fit_explain_and_predict(folder):
    model = folder / "model.json"
    arguments = ("--target", "visits", "--noise", "poisson", "--prior", "gaussian", "--exposure", "years")
    done = run("fit", folder / "visits.csv", *arguments, "--save", model)
    assert "region[south]" in done.stdout
    fit = nl.load(model)
    table = visits()
    same = nl.fit(table.drop_columns(["id"]), "visits", nl.Poisson(), nl.Gaussian(), exposure="years")
    np.testing.assert_allclose(fit.coef, same.coef, rtol=1e-6)
    told = run("explain", model).stdout
    assert "log(mean of visits) = log(years) + intercept + age + region (3 levels)" in told
    assert "Fitted to 600 rows of visits" in told
    assert json.loads(run("explain", model, "--json").stdout)["neglog fit"] == 1
    for table_file, output in (("visits.csv", "out.parquet"), ("visits.parquet", "out.csv")):
        run("predict", model, folder / table_file, "-o", folder / output, "--quantiles", ".05,.95", "--keep", "id")
    first = parquet.read_table(folder / "out.parquet")
    second = csv.read_csv(folder / "out.csv")
    assert first.column_names == second.column_names == ["id", "prediction", "q0.05", "q0.95"]
    np.testing.assert_allclose(first["prediction"], fit.predict(table, exposure="years"))
    np.testing.assert_allclose(second["prediction"], first["prediction"])
    piped = run("predict", model, folder / "visits.csv").stdout.splitlines()
    assert len(piped) == 601
    assert sorted(path.name for path in folder.iterdir()) == [
        "model.json",
        "out.csv",
        "out.parquet",
        "visits.csv",
        "visits.parquet",
    ]


def test_predict_streams_what_fit_saw_otherwise(folder):
    """Whole numbers at first, others in a later block; levels that were never seen are counted aloud."""
    model = folder / "model.json"
    run(
        "fit",
        folder / "visits.parquet",
        "--target",
        "visits",
        "--noise",
        "poisson",
        "--without",
        "years",
        "--save",
        model,
    )
    rows = 400_000
    age = np.full(rows, 40.0)
    age[-1] = 40.5
    lines = ["age;region", *(f"{a:g};north" for a in age[:-1]), "40.5;east"]
    (folder / "long.csv").write_text("\n".join(lines))
    done = run("predict", model, folder / "long.csv", "-o", folder / "long.parquet")
    assert parquet.read_table(folder / "long.parquet").num_rows == rows
    assert "neglog: warning: levels that the fit has not seen" in done.stderr


def test_labels_are_compared_and_predicted(folder):
    table = visits()
    often = pa.array(np.where(np.asarray(table["visits"]) > 1, "often", "seldom"))
    parquet.write_table(table.drop_columns(["visits"]).append_column("kind", often), folder / "kinds.parquet")
    done = run("compare", folder / "kinds.parquet", "--target", "kind", "--structures", "linear")
    assert "Categorical explains kind best" in done.stdout
    run("fit", folder / "kinds.parquet", "--target", "kind", "--noise", "categorical", "--prior", "gaussian(scale=1)",
        "--save", folder / "kind.json")  # fmt: skip
    text = run("predict", folder / "kind.json", folder / "kinds.parquet").stdout
    assert text.startswith('"probability of often","probability of seldom"')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "nothing.csv", "--target", "y"], "there is no file nothing.csv"),
        (["compare", "{visits.parquet}", "--target", "cost"], "has no column 'cost'; it has 'id', 'age'"),
        (["compare", "{notes.md}", "--target", "y"], "has the ending '.md'; known are .parquet"),
        (["compare", "{broken.parquet}", "--target", "y"], "broken.parquet cannot be read"),
        (["fit", "{visits.csv}", "--target", "visits", "--noise", "wild"], "there is no distribution 'wild'"),
        (["fit", "{visits.csv}", "--target", "visits", "--noise", "gamma"], "Gamma"),
        (["fit", "{visits.csv}", "--target", "visits", "--noise", "poisson", "--save", "/none/m.json"], "no directory"),
        (["explain", "{broken.json}"], "is no complete JSON file"),
        (["predict", "{broken.json}", "{visits.csv}"], "is no complete JSON file"),
        (["compare", "{holes.csv}", "--target", "y"], "column 'a' has 1"),
        (
            ["compare", "{holes.csv}", "--target", "y"],
            "drop these rows with --missing drop, fill the values with --missing",
        ),
        (["fit", "{holes.csv}", "--target", "a", "--noise", "gaussian"], "drop these rows, as --missing drop does"),
        (
            ["fit", "{commas.csv}", "--target", "y", "--noise", "gaussian"],
            "the column 'a' of X holds texts that are numbers",
        ),
        (["fit", "{twice.csv}", "--target", "y", "--noise", "gaussian"], "has the columns 'a' more than once"),
        (
            ["fit", "{visits.csv}", "--target", "visits", "--noise", "poisson", "--rare", "999"],
            "lower --rare, or leave",
        ),
        (["compare", "{visits.csv}", "--target", "visits", "--folds", "1"], "neglog: --folds must be"),
    ],
)
def test_errors_are_one_sentence(folder, arguments, message):
    (folder / "notes.md").write_text("text")
    (folder / "broken.parquet").write_bytes(b"PAR1 but not really")
    (folder / "broken.json").write_text('{"neglog fit": 1, "noise"')
    (folder / "holes.csv").write_text("a,y\n1,2\n,3\n3,4\n5,6\n7,9\n")
    (folder / "commas.csv").write_text("a;y\n" + "".join(f"{i},{i % 10};{i}\n" for i in range(40)))
    (folder / "twice.csv").write_text("a,a,y\n1,2,3\n3,4,5\n")
    filled = [str(folder / part[1:-1]) if part.startswith("{") else part for part in arguments]
    done = run(*filled, expect=1)
    assert done.stderr.startswith("neglog: ")
    assert message in done.stderr
    assert done.stdout == ""


def test_wrong_calls_end_with_2(folder):
    run("compare", folder / "visits.csv", expect=2)
    run("wild", expect=2)
    run("predict", "m.json", folder / "visits.csv", "--quantiles", "2", expect=2)


def test_debug_shows_the_traceback(folder):
    done = subprocess.run(
        [sys.executable, "-m", "neglog", "explain", str(folder / "none.json"), "--debug"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_missing_values_are_dropped_or_imputed_aloud(folder):
    (folder / "holes.csv").write_text("a,g,y\n" + "1,u,2\n,v,3\n3,u,4\n5,,6\n7,v,9\n8,u,11\n" * 5)
    base = ("fit", folder / "holes.csv", "--target", "y", "--noise", "gaussian", "--prior", "gaussian(scale=1)")
    assert "10 of 30 rows were left out: they lack values" in run(*base, "--missing", "drop").stdout
    done = run(*base, "--missing", "impute", "--save", folder / "m.json")
    assert "a: 5 missing values are the mean, 4.8, and a column says where" in done.stdout
    assert len(run("predict", folder / "m.json", folder / "holes.csv").stdout.splitlines()) == 31


# ---- many files ------------------------------------------------------------------------------------------------------


@pytest.fixture
def parts(tmp_path):
    rows = visits()
    (tmp_path / "parts").mkdir()
    for i in range(3):
        parquet.write_table(rows.slice(200 * i, 200), tmp_path / "parts" / f"{i}.parquet")
    return tmp_path


def test_a_pattern_is_fitted_and_predicted_like_one_file(folder, parts):
    options = ("--target", "visits", "--exposure", "years", "--without", "id", "--noise", "poisson")
    one = json.loads(run("fit", folder / "visits.parquet", *options, "--save", folder / "one.json", "--json").stdout)
    many = json.loads(
        run("fit", parts / "parts" / "*.parquet", *options, "--save", parts / "many.json", "--json").stdout
    )
    np.testing.assert_allclose(many["values"]["coef"]["array"], one["values"]["coef"]["array"], atol=1e-9)
    done = run(
        "predict", parts / "many.json", parts / "parts", "-o", parts / "out", "--quantiles", ".9", "--keep", "id"
    )
    assert "600 predictions" in done.stdout
    out = parquet.read_table(parts / "out")
    assert out.column_names == ["id", "prediction", "q0.9"]
    assert out["id"].to_pylist() == list(range(600))
    assert "name it with --output" in run("predict", parts / "many.json", parts / "parts", expect=1).stderr


def test_a_directory_is_compared_like_one_file(folder, parts):
    options = ("--target", "visits", "--without", "id", "--noise", "poisson,gaussian", "--prior", "gaussian(scale=1)")
    one = json.loads(run("compare", folder / "visits.parquet", *options, "--json").stdout)
    many = json.loads(run("compare", parts / "parts", *options, "--cache", parts / "cache", "--json").stdout)
    assert [line["noise"] for line in many["table"]] == [line["noise"] for line in one["table"]]
    for here, there in zip(one["table"], many["table"], strict=True):
        assert there["nats"] == pytest.approx(here["nats"], rel=1e-5)
    assert (
        "has no column 'nothing'"
        in run("fit", parts / "parts", "--target", "nothing", "--noise", "poisson", expect=1).stderr
    )


def test_rare_levels_are_compared(folder):
    done = run("compare", folder / "visits.csv", "--target", "visits", "--rare", "190", "--noise", "poisson,gaussian")
    assert "levels have fewer than 190 rows" in done.stdout
    assert "Poisson" in done.stdout


def test_a_formula_is_a_target(tmp_path):
    parquet.write_table(visits(), tmp_path / "rows.parquet")
    model, formula = tmp_path / "model.json", "visits ~ s(age) + region + offset(log(years))"
    run("fit", tmp_path / "rows.parquet", "--target", formula, "--noise", "poisson", "--save", model)
    here = nl.fit(visits(), formula, nl.Poisson())
    np.testing.assert_allclose(nl.load(model).predict(visits()), here.predict(visits()), rtol=1e-9)
    run("predict", model, tmp_path / "rows.parquet", "-o", tmp_path / "predicted.csv")
    found = csv.read_csv(tmp_path / "predicted.csv")["prediction"].to_numpy()
    np.testing.assert_allclose(found, here.predict(visits()), rtol=1e-6)
    options = ("fit", tmp_path / "rows.parquet", "--noise", "poisson", "--target")
    assert "from letter 10: | stands inside brackets" in run(
        *options, "visits ~ age | region", expect=1
    ).stderr.replace("\n", " ")
    run("compare", tmp_path / "rows.parquet", "--target", formula, "--noise", "poisson,negativebinomial")
