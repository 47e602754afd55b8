"""The report in a real browser: it stands alone, says what it found, and can be read by everyone."""

import re
import shutil
from datetime import UTC, datetime
from xml.etree import ElementTree

import numpy as np
import pytest

import neglog as nl
from neglog.report import SECTIONS, render, write_report
from neglog.report.drawing import Plot, factor_ticks, number, round_ticks
from neglog.report.head import badges, readable
from neglog.report.ranking import ranking
from neglog.report.residuals import residuals
from neglog.results.effects import contrast_of

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MADE = datetime(2026, 5, 4, 3, 2, tzinfo=UTC)
OUTSIDE = """svgs => svgs.flatMap(svg => [...svg.querySelectorAll("text")].filter(text => {
  const inner = text.getBoundingClientRect(), outer = svg.getBoundingClientRect();
  return inner.left < Math.max(outer.left - 3, 0) || inner.right > Math.min(outer.right + 3, innerWidth)
    || inner.top < outer.top - 3 || inner.bottom > outer.bottom + 3 || inner.height < 9;
}).map(text => text.textContent))"""


def table_of(rows, seed=0):
    pandas = pytest.importorskip("pandas", reason="a table to compare on")
    rng = np.random.default_rng(seed)
    return rng, pandas.DataFrame(
        {"age": rng.uniform(20, 80, rows), "region": rng.choice(["<b>north</b>", "south", "east"], rows)}
    )


@pytest.fixture(scope="module")
def counts():
    rng, frame = table_of(800)
    frame["visits"] = rng.poisson(np.exp(-1 + 0.03 * frame["age"] + np.sin(frame["age"] / 6)))
    return nl.compare(frame, "visits", ["poisson", "negativebinomial", "gaussian"], structures=["linear", "smooth"])


@pytest.fixture(scope="module")
def amounts():
    """A curve, groups, pairs of columns of every kind, and a spread that is modelled."""
    rng, frame = table_of(600, 2)
    frame["size"] = rng.uniform(size=600)
    frame["town"] = rng.choice(["p", "q"], 600)
    frame["cost"] = np.exp(np.sin(frame["age"] / 8) + frame["size"] + np.exp(-2 + frame["size"]) * rng.normal(size=600))
    pairs = [("age", "size"), ("region", "town"), ("region", "size")]
    terms = [nl.smooth("age"), nl.group("region"), "size", *(nl.interaction(*pair) for pair in pairs)]
    noises = ["lognormal(scale='model')", "gamma", "log(laplace)"]
    return nl.compare(frame, "cost", noises, terms=terms, folds=2)


@pytest.fixture(scope="module")
def classes():
    rng, frame = table_of(400, 1)
    frame["left"] = np.where(frame["age"] / 30 - 2 + rng.logistic(size=400) > 0, "yes", "no")
    return nl.compare(frame, "left", structures=["linear", "smooth"], folds=3)


@pytest.fixture(scope="module")
def uneven():
    """A spread that depends on a column, which no law was told."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(1500, 2))
    y = X[:, 0] + np.exp(2 * X[:, 1]) * rng.normal(size=1500)
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b"])
    frame["y"] = y
    return nl.compare(frame, "y", ["gaussian", "laplace"], structures="linear", folds=3)


ALL = ["counts", "amounts", "classes", "uneven"]


@pytest.fixture(scope="module")
def open_page(tmp_path_factory):
    """A function that writes the report of a comparison and opens it; what is not as it should be is in its trouble."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="a driver for the browser")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium here")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)

        def opened(comparison, command=""):
            path = tmp_path_factory.mktemp("report") / "report.html"
            write_report(comparison, path, command=command, made=MADE)
            page = browser.new_page()
            page.trouble = []
            page.on("console", lambda message: page.trouble.append(message.text))
            page.on("pageerror", lambda error: page.trouble.append(str(error)))
            page.on("request", lambda one: page.trouble.append(one.url) if "report.html" not in one.url else 0)
            page.goto(path.as_uri())
            return page

        yield opened
        browser.close()


# ---- in a browser ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_a_page_stands_alone_and_fits_a_phone(name, request, open_page):
    page = open_page(request.getfixturevalue(name))
    assert [text for text in page.trouble if not text.startswith("data:")] == []
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("figure svg").evaluate_all(OUTSIDE) == []


def test_a_page_is_dark_at_night_and_copies_its_call(counts, open_page):
    page = open_page(counts)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 25, 30)"
    fill = page.locator("figure svg text").first.evaluate("x => getComputedStyle(x).fill")
    assert fill == "rgb(227, 231, 235)"
    page.locator(".copy").first.click()
    page.wait_for_function("document.querySelector('.copy').textContent !== 'Copy'")
    assert page.locator(".code pre").first.inner_text() == counts.call


# ---- what it says ----------------------------------------------------------------------------------------------------


def test_every_section_is_in_some_page_and_every_figure_is_told_in_words(request):
    seen = set()
    for name in ALL:
        comparison = request.getfixturevalue(name)
        for one in SECTIONS:
            for section in one(comparison):
                seen.add(one)
                for figure in section.figures:
                    assert len(figure.alt) > 20
                    ElementTree.fromstring(figure.svg)
                for table in section.tables:
                    assert {len(row) for row in table.rows} <= {len(table.heads)}
        text = render(comparison, made=MADE)
        assert text.count("<svg") == text.count('role="img"') == text.count("aria-label") - text.count("<button") - 1
        assert "nan" not in re.sub(r"<title>.*?</title>", "", text)
    named = {one.__name__ for one in set(SECTIONS) - seen}
    assert named <= {"refused"}  # which these comparisons have none of


def test_what_columns_are_worth_is_in_the_verdict(classes):
    assert "Without any column a row costs" in render(classes, made=MADE)
    assert "constant Categorical" in ranking_of(classes).figures[0].svg


def ranking_of(comparison):
    [section] = ranking(comparison)
    return section


def test_the_verdict_is_on_top(counts):
    text = render(counts, command="neglog compare visits.parquet", made=MADE)
    head = text[: text.index("<h2>")]
    assert f"{counts.scores[0].mean:.3f}"[:4] in head
    assert [one.text for one in badges(counts)][1] == "no leak seen"
    assert counts.call.replace('"', "&#34;") in head
    assert "neglog compare visits.parquet" in text
    assert "Made 2026-05-04 03:02 UTC." in text
    assert "seed 0" in text


def test_a_page_is_the_same_again(counts):
    assert render(counts, made=MADE) == render(counts, made=MADE)


def test_names_from_the_data_are_text(request):
    for name in ALL[:3]:
        text = render(request.getfixturevalue(name), made=MADE)
        assert "<b>north" not in text
        assert "&lt;b&gt;north" in text


def test_badges_say_what_is_wrong(uneven):
    words = {one.text: one for one in badges(uneven)}
    assert words["calibrated on the whole" if "calibrated on the whole" in words else "not calibrated"].state != "good"
    text = render(uneven, made=MADE)
    assert "Where it is wrong" in text
    assert uneven.uneven[0].sentence(uneven.scores[0]).split(":")[0] in text
    assert "The noises do not predict the same thing" in text
    assert "The median of y: Laplace" in text


def test_coverage_along_a_column_counts_all_rows(uneven):
    [one] = [one for one in uneven.uneven if one.column == "b"]
    rows = np.array([each.rows for each in one.bins])
    assert rows.sum() == 1500
    whole = np.average([each.coverage for each in one.bins], weights=rows)
    assert whole == pytest.approx(uneven.scores[0].coverage(0.8))


def test_expected_frequencies_are_those_of_rows_held_out(counts):
    best = counts.scores[0]
    found = np.array([np.mean(counts.y <= edge) for edge in best.edges])
    assert best.expected == pytest.approx(found, abs=0.04)
    hopeless = next(score for score in counts.scores if score.law == "Gaussian")
    assert np.abs(hopeless.expected - found).max() > np.abs(best.expected - found).max()


def test_a_hopeless_noise_does_not_flatten_the_ranking():
    rng, frame = table_of(600, 4)
    frame["y"] = np.exp(2 * rng.standard_t(2, 600)) * np.exp(frame["age"] / 20)
    noises = ["log(studentt)", "lognormal", "log(huber)", "gaussian"]
    found = nl.compare(frame, "y", noises, structures="linear", folds=2)
    figure = ranking_of(found).figures[0]
    assert "The axis is cut off" in figure.caption
    assert "▸" in figure.svg


def test_the_best_that_can_be_read_is_explained(counts):
    from dataclasses import replace

    best = replace(counts.scores[0], structure="trees", name="trees X", nll=counts.scores[0].nll - 0.1)
    richer = replace(counts, scores=[best, *counts.scores], fit=counts.fit)
    assert readable(richer) is counts.scores[0]
    text = render(richer, made=MADE)
    assert "cannot be read term by term" in text
    assert "it costs 0.1000" in text


@pytest.mark.parametrize("noise", ["ordinal", "lognormal"])
def test_what_cannot_be_drawn_is_left_out(noise):
    """Classes have no intervals, and cells no histogram that a law could be held against."""
    rng, frame = table_of(300, 9)
    y = np.clip(np.round(frame["age"] / 20 + rng.normal(size=300)), 1, 5)
    kinds = {"ordinal": (y, [nl.Ordinal(), nl.Categorical()]), "lognormal": (nl.censored(y, y + 1), ["lognormal"])}
    text = render(nl.compare(frame, *kinds[noise], folds=2), made=MADE)
    assert "nan" not in text
    assert "Lines: the shares expected" not in text


def test_residuals_have_their_band_and_rows_their_influence(counts):
    [section] = residuals(counts)
    worm, _, rows = section.figures
    assert 'class="band"' in worm.svg
    assert "As a whole they are as a Gaussian has them" in " ".join(section.words)
    found = counts.fit.influence()
    first = int(found.largest(1)[0])
    assert f"row {first:,} decides most" in section.words[-1]
    assert f"row {first:,}: leverage" in rows.svg
    assert section.tables[0].rows[0][0] == f"{first:,}"


# ---- effects ---------------------------------------------------------------------------------------------------------


def test_levels_against_their_average_are_the_contrasts_of_the_summary():
    _, frame = table_of(500, 5)
    y = 3.0 * (frame["region"] == "south") + np.random.default_rng(6).normal(size=500)
    fit = nl.fit(frame, y, prior=nl.Gaussian(scale=1.0))
    levels = next(column.levels for column in fit.schema.table if column.name == "region")
    shares = np.array([np.mean(frame["region"] == level) for level in levels])
    found = contrast_of(fit, "region", None, shares, 0.95, "location")
    table = fit.summary().table
    rows = [table["name"].index(f"region[{level}]") for level in levels]
    assert found.estimate == pytest.approx(table["estimate"][rows])
    assert found.lower == pytest.approx(table["lower"][rows])


def test_many_levels_are_as_few_but_for_the_error_of_their_average(monkeypatch):
    _, frame = table_of(500, 5)
    y = 3.0 * (frame["region"] == "south") + np.random.default_rng(6).normal(size=500)
    fit = nl.fit(frame, y, prior=nl.Gaussian(scale=1.0))
    together = contrast_of(fit, "region", None, [0.3, 0.3, 0.4], 0.95, "location")
    monkeypatch.setattr("neglog.results.effects.TOGETHER", 2)
    apart = contrast_of(fit, "region", None, [0.3, 0.3, 0.4], 0.95, "location")
    assert apart.estimate == pytest.approx(together.estimate)
    assert (apart.upper >= together.upper).all()


def test_a_column_with_gaps_is_drawn_where_it_has_values():
    rng, frame = table_of(400, 10)
    frame["y"] = frame["age"] / 10 + rng.normal(size=400)
    frame["age"] = frame["age"].where(rng.random(400) < 0.9)
    found = nl.compare(frame, "y", ["gaussian"], missing="impute", folds=2)
    assert [one.missing > 20 for one in found.columns] == [True, False]
    assert "The effect of age, from" in render(found, made=MADE)


def test_the_log_odds_of_two_classes_are_those_of_a_bernoulli():
    _, frame = table_of(500, 7)
    one = (frame["age"] / 30 - 2 + np.random.default_rng(8).logistic(size=500)) > 0
    classes = nl.fit(frame[["age"]], np.where(one, "yes", "no"), nl.Categorical(), nl.Flat())
    bernoulli = nl.fit(frame[["age"]], one.astype(float), nl.Bernoulli(), nl.Flat())
    at = np.array([20.0, 80.0])
    found, wanted = (contrast_of(fit, "age", at, 50.0, 0.9, "location") for fit in (classes, bernoulli))
    assert found.estimate == pytest.approx(wanted.estimate, rel=1e-4)
    assert found.upper == pytest.approx(wanted.upper, rel=1e-3)


# ---- drawings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1234567.0, "1,234,567"),
        (0.012345, "0.0123"),
        (-2.5, "−2.50"),
        (3.0, "3"),
        (1e-9, "1.00e−09"),
        (np.nan, "–"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


def test_ticks_are_round_and_inside():
    assert round_ticks(0.0, 1.0, 5).tolist() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert round_ticks(2.0, 2.0).tolist() == [2.0]
    assert [text for _, text in factor_ticks(np.log(0.4), np.log(2.5))] == ["×0.5", "×1", "×2"]
    assert [text for _, text in factor_ticks(np.log(0.04), np.log(30))] == ["×0.1", "×1", "×10"]


def test_a_plot_of_one_value_is_drawn():
    plot = Plot((3.0, 3.0), (0.0, 0.0), xlabel="<x>", ylabel="y", title="&")
    plot.line([3.0], [0.0])
    ElementTree.fromstring(plot.svg)
