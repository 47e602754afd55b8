"""The built handbook in a browser: every page is clean, and every live figure shows what neglog computes."""

import http.server
import importlib.util
import json
import re
import shutil
import subprocess
import threading
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from scipy import special

import neglog as nl

DOCS = Path(__file__).parents[2] / "docs"
HTML = DOCS / "_build" / "html"
AXE = DOCS / "node_modules" / "axe-core" / "axe.min.js"
SYSTEM_PAGES = {"genindex.html", "search.html", "py-modindex.html"}
PAGES = sorted(
    path.relative_to(HTML).as_posix()
    for path in HTML.rglob("*.html")
    if "_static" not in path.parts and path.name not in SYSTEM_PAGES
)
FIGURES = sorted(path.stem for path in (DOCS / "live").glob("*.js") if path.with_suffix(".py").exists())
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 375, "height": 800}
NOT_BUILT = "docs/_build/html is not there; `make docs` builds it"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(HTML)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def opened(browser, site):
    """A function that opens a page of the handbook and keeps what went wrong in `page.faults`."""

    def open_page(path):
        page = browser.new_page(viewport=WIDE, color_scheme="light")
        page.faults = []
        page.on("console", lambda m: page.faults.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("request", lambda r: page.faults.append(f"request of {r.url}") if outside(r.url, site) else None)
        page.on("response", lambda r: page.faults.append(f"{r.status} for {r.url}") if r.status >= 400 else None)
        page.goto(f"{site}/{path}", wait_until="load")
        return page

    return open_page


def outside(url, site):
    return urlsplit(url).scheme not in ("data", "blob", "about") and not url.startswith(site)


@pytest.fixture(scope="module", params=PAGES or [pytest.param("", marks=pytest.mark.skip(NOT_BUILT))])
def page(request, opened):
    """Every page in turn."""
    page = opened(request.param)
    yield page
    page.close()


def test_a_page_loads_without_errors_and_asks_nobody_else(page):
    assert page.faults == []


def test_all_maths_is_rendered(page):
    assert page.locator(".katex-error").count() == 0
    assert page.locator(".math:not(:has(.katex))").count() == 0
    prose = page.evaluate(
        """() => {
            const copy = document.querySelector("article").cloneNode(true);
            copy.querySelectorAll("pre, code, script, .katex").forEach((element) => element.remove());
            return copy.textContent;
        }"""
    )
    assert "$" not in prose
    assert "\\(" not in prose


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not in docs/node_modules")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(page, theme):
    page.emulate_media(color_scheme=theme)
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [
        (fault["id"], [node["html"][:200] for node in fault["nodes"]][:3])
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_a_phone_does_not_scroll_sideways(page):
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(50)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for control in page.locator("figure.live input[type=range], figure.live .live-choice label").all():
        assert control.bounding_box()["height"] >= 32


def page_of(name):
    """The built page that shows a figure."""
    for path in PAGES:
        if f'data-live="{name}"' in (HTML / path).read_text(encoding="utf-8"):
            return path
    return None


def figure_module(name):
    spec = importlib.util.spec_from_file_location(f"live_{name}", DOCS / "live" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STATE = """figure => ({
    controls: Array.from(figure.querySelectorAll("[data-control]"), (element) =>
        element.tagName === "INPUT"
            ? [element.dataset.control, Number(element.value), Number(element.step || 1)]
            : [element.dataset.control, JSON.parse(element.dataset.value), null]),
    readouts: Array.from(figure.querySelectorAll("[data-readout][data-value]"), (element) =>
        [element.dataset.readout, element.dataset.value]),
    picture: figure.querySelector(".live-plots").innerHTML
        + Array.from(figure.querySelectorAll("[data-readout]"), (element) => element.outerHTML).join(),
})"""


class State:
    """What a figure shows now: the value of every control, the numbers, and the picture."""

    def __init__(self, figure):
        state = figure.evaluate(STATE)
        self.picture = state["picture"]
        self.readouts = {name: float(value.replace("Infinity", "inf")) for name, value in state["readouts"]}
        self.controls = {}
        for name, value, step in state["controls"]:
            whole = step is not None and float(value).is_integer() and float(step).is_integer()
            self.controls[name] = int(value) if whole else value

    def check(self, module):
        wanted = module.expected(**self.controls)
        assert self.readouts.keys() >= wanted.keys(), self.controls
        for name, value in wanted.items():
            assert self.readouts[name] == pytest.approx(float(value), rel=5e-4, abs=1e-9), (name, self.controls)


@pytest.fixture(scope="module", params=FIGURES)
def live(request, opened):
    """Every live figure in turn: its page, itself, and its Python side."""
    if not PAGES:
        pytest.skip(NOT_BUILT)
    path = page_of(request.param)
    assert path is not None, f"no page shows the figure {request.param}"
    page = opened(path)
    yield page, page.locator(f'figure[data-live="{request.param}"]'), figure_module(request.param)
    page.close()


def test_a_live_figure_answers_the_keyboard_and_agrees_with_neglog(live):
    page, figure, module = live
    assert figure.locator("svg").count() > 0
    assert figure.locator("[data-control]").count() > 0
    before = State(figure)
    before.check(module)
    for control in figure.locator("[data-control]").all():
        name = control.get_attribute("data-control")
        radio = control.evaluate("element => element.tagName") != "INPUT"
        (control.locator("input:checked") if radio else control).focus()
        moved = False
        for key in ["ArrowRight", "ArrowRight", "ArrowLeft"] + ([] if radio else ["Home", "End"]):
            page.keyboard.press(key)
            after = State(figure)
            after.check(module)
            if after.controls != before.controls:
                moved = True
                assert after.picture != before.picture, (before.controls, after.controls)
            before = after
        assert moved, name
    assert page.faults == []


def test_a_live_figure_follows_the_width_and_the_theme(live):
    page, figure, _ = live
    svg = figure.locator("svg[role=img]").first
    wide = svg.bounding_box()["width"]
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(100)
    narrow = svg.bounding_box()["width"]
    assert narrow <= PHONE["width"]
    assert narrow != wide
    light = svg.evaluate("element => getComputedStyle(element).color")
    page.evaluate("document.body.dataset.theme = 'dark'")
    assert svg.evaluate("element => getComputedStyle(element).color") != light


@pytest.mark.skipif(not PAGES, reason=NOT_BUILT)
def test_the_reference_names_every_public_name():
    ids = set(re.findall(r'id="([^"]+)"', (HTML / "api.html").read_text(encoding="utf-8")))
    missing = [name for name in nl.__all__ if f"neglog.{name}" not in ids and name != "from_samples"]
    assert missing == []


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_maths_of_the_figures_is_that_of_neglog():
    x = [-30.0, -8.0, -3.0, -2.9999, -1.0, 0.0, 0.3, 1.7, 3.0, 9.0]
    a = [1e-3, 0.3, 0.5, 1.0, 2.0, 7.5, 40.0, 1e4]
    maths = json.dumps((DOCS / "live" / "maths.js").as_uri())
    script = f"""
        import {{ lgamma, linspace, logsumexp, normalCdf, short }} from {maths};
        console.log(JSON.stringify({{
            cdf: {json.dumps(x)}.map(normalCdf),
            lgamma: {json.dumps(a)}.map(lgamma),
            grid: linspace(-1, 2, 7),
            sum: logsumexp([1000, 1001, -5]),
            shown: [0, 1.23456, -1234567, 1e-9, Infinity].map(short),
        }}));
    """
    command = ["node", "--input-type=module", "--eval", script]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    np.testing.assert_allclose(found["cdf"], nl.Gaussian(0.0, 1.0).cdf(x), rtol=1e-12)
    np.testing.assert_allclose(found["lgamma"], special.gammaln(a), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found["grid"], np.linspace(-1, 2, 7))
    np.testing.assert_allclose(found["sum"], np.logaddexp(1000, 1001))
    assert found["shown"] == ["0", "1.235", "−1235000", "1e−9", "∞"]
