"""The report in a real browser: it stands alone, says what it found, and can be read by everyone."""

import shutil

import numpy as np
import pytest

import neglog as nl
from neglog.report import render, write_report

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
def page(comparison, tmp_path_factory):
    sync_api = pytest.importorskip("playwright.sync_api", reason="a driver for the browser")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium here")
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(comparison, path, command="neglog compare visits.parquet --target visits")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page()
        page.trouble = []
        page.on("console", lambda message: page.trouble.append(message.text))
        page.on("pageerror", lambda error: page.trouble.append(str(error)))
        page.on("request", lambda request: page.trouble.append(request.url) if "report.html" not in request.url else 0)
        page.goto(path.as_uri())
        yield page
        browser.close()


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
