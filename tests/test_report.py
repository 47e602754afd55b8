"""The report in a real browser: it stands alone, says what it found, and can be read by everyone."""

import shutil

import numpy as np
import pytest

import neglog as nl
from neglog.report import render, write_report
from neglog.report.figures import effects_figure
from neglog.results.plot import drawn_terms

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def comparison():
    pandas = pytest.importorskip("pandas", reason="a table to compare on")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"age": rng.uniform(20, 80, 800), "region": rng.choice(["<b>north</b>", "south"], 800)})
    frame["visits"] = rng.poisson(np.exp(-1 + 0.03 * frame["age"]))
    return nl.compare(frame, "visits")


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
            write_report(comparison, path, command=command)
            return watched(browser.new_page(), path)

        yield opened
        browser.close()


def watched(page, path):
    page.trouble = []
    page.on("console", lambda message: page.trouble.append(message.text))
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    page.on("request", lambda request: page.trouble.append(request.url) if "report.html" not in request.url else 0)
    page.goto(path.as_uri())
    return page


@pytest.fixture(scope="module")
def page(comparison, open_page):
    return open_page(comparison, command="neglog compare visits.parquet --target visits")


def test_the_page_stands_alone(page):
    assert [text for text in page.trouble if not text.startswith("data:")] == []


def test_the_page_has_its_headings_and_words(page, comparison):
    assert page.title() == "Which noise explains visits?"
    headings = page.locator("h2").all_inner_texts()
    wanted = ["Held-out nats per row", "The ranking", "Is the spread right?", "Is the mean right?", "The losses"]
    assert headings == [*wanted, "The coefficients", "The fit", "The data", "How this was made"]
    assert page.locator("p.answer").inner_text() == comparison.conclusion
    assert page.locator("tbody").first.locator("tr").count() == len(comparison.scores)
    assert "neglog compare visits.parquet" in page.locator("pre").last.inner_text()


def test_every_figure_has_an_alternative_text_and_is_drawn(page):
    figures = page.locator("figure [role=img]")
    assert figures.count() == 5
    for i in range(5):
        assert len(figures.nth(i).get_attribute("aria-label")) > 20
        assert figures.nth(i).locator("svg").bounding_box()["height"] > 50


def test_the_page_fits_a_phone_and_the_night(page):
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 25, 30)"
    fill = page.locator("figure svg text").first.evaluate("x => getComputedStyle(x).fill")
    assert fill == "rgb(227, 231, 235)"


def test_names_from_the_data_are_text(comparison):
    text = render(comparison)
    assert "<b>north</b>" not in text
    assert "&lt;b&gt;north&lt;/b&gt;" in text


def test_classes_have_a_report_too(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    found = nl.compare(X, np.where(X[:, 0] + rng.normal(size=300) > 0, "yes", "no"))
    write_report(found, tmp_path / "classes.html")
    assert "The coefficients" in (tmp_path / "classes.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def of_terms():
    """A comparison of fits with a curve, a group, and a scale that is modelled."""
    pandas = pytest.importorskip("pandas", reason="a table to compare on")
    rng = np.random.default_rng(2)
    frame = pandas.DataFrame({"age": rng.uniform(20, 80, 300), "region": rng.choice(["<b>n</b>", *"defgh"], 300)})
    frame["cost"] = np.sin(frame["age"] / 8) + np.exp(-2 + 0.02 * frame["age"]) * rng.normal(size=300)
    noises = [nl.Gaussian(scale="model"), nl.Gaussian()]
    return nl.compare(frame, "cost", noises, terms=[nl.smooth("age"), nl.group("region")], folds=2)


def test_a_fit_of_terms_shows_its_effects_and_lists_them(of_terms, open_page):
    page = open_page(of_terms)
    headings = page.locator("h2").all_inner_texts()
    assert {"The effects", "The effects on the scale", "The terms", "The coefficients", "The losses"} <= set(headings)
    shown = page.locator("h2:has-text('The effects') + figure svg")
    assert shown.count() == 2
    titles = [" ".join(one.locator("text").all_text_contents()) for one in shown.all()]
    assert "s(age)" in titles[0]
    assert "(1|region)" in titles[0]
    assert "raw scale" in titles[1]
    rows = page.locator("h2:has-text('The terms') + div tbody tr").all()
    listed = [[cell.inner_text() for cell in row.locator("td").all()] for row in rows]
    wanted = [(of, term) for of, one in of_terms.fit.predictors.items() for term in one.terms]
    assert [(row[0], row[1], row[3]) for row in listed] == [(of, t.name, f"{t.effective:.4g}") for of, t in wanted]
    assert "<b>n</b>" not in render(of_terms)
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_parameter_shows_the_terms_that_it_has():
    rng = np.random.default_rng(3)
    table = pytest.importorskip("pandas").DataFrame({"a": rng.uniform(size=200), "g": rng.choice(list("pqrs"), 200)})
    y = table["a"] + np.exp(table["a"]) * rng.normal(size=200)
    noise = nl.Gaussian(scale=nl.terms(nl.smooth("a")))
    fit = nl.fit(table, y, noise, terms=["a", nl.group("g", scale=0.3)])
    assert drawn_terms(fit) == ["(1|g)"]
    assert drawn_terms(fit, "scale") == ["s(a)"]
    assert "s(a)" in effects_figure(fit, "scale")


def test_a_fit_without_terms_lists_none(comparison):
    assert "The terms" not in render(comparison)
