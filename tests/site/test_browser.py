"""Tests the site in a browser: accessibility, phones, dark mode, and use by keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browser import AXE, CHROMIUM, WITHOUT_AXE, WITHOUT_CHROMIUM, Browser
from tests.support.cli import kubectl_tas
from tests.support.history import commit
from tests.support.site import company, report

pytestmark = [pytest.mark.sweep, pytest.mark.skipif(not CHROMIUM, reason=WITHOUT_CHROMIUM)]
PAGES = (
    "index.html",
    "clusters/train-eu.html",
    "pools/foundation.html",
    "topologies/gb200-fabric.html",
    "work/index.html",
    "work/workflow-too-large.html",
    "findings/index.html",
    "findings/rules.html",
)
"""One of each kind."""
SCREENS = ((1280, 900, False, PAGES), (390, 844, True, PAGES[::2]))
"""Width, height, whether it is dark, and what is looked at: a desk by day, a phone at night."""
CHECK = """\
axe.run({preload: false}).then(found => found.violations.flatMap(
  rule => rule.nodes.map(node => `${rule.id}: ${node.html}: ${node.failureSummary}`)))
"""
LISTED = "new Promise(done => { const look = () => window.tasIndex ? done() : setTimeout(look, 5); look(); })"
"""Waits until the list of pages has been read."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a company with two files that are wrong."""
    folder = tmp_path_factory.mktemp("company")
    assert report(company(folder / "repository"), folder / "site") == 1
    return folder / "site"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One for all tests of this file."""
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The same, on a wide screen; nothing may go wrong in it, and nothing but files of the site be asked for."""
    chromium.show(1280, 900, is_dark=False)
    chromium.requests.clear()
    yield chromium
    assert chromium.problems == []
    assert [url for url in chromium.requests if not url.startswith(("file:///", "data:,"))] == []


@pytest.mark.skipif(not AXE, reason=WITHOUT_AXE)
@pytest.mark.parametrize(("width", "height", "is_dark", "pages"), SCREENS)
def test_accessibility(
    browser: Browser, site: Path, width: int, height: int, is_dark: bool, pages: tuple[str, ...]
) -> None:
    browser.show(width, height, is_dark=is_dark)
    rules = Path(AXE).read_text(encoding="utf-8")
    for page in pages:
        browser.open(site / page)
        browser.evaluate(f"{rules}; undefined")
        assert browser.evaluate(CHECK) == [], page


@pytest.mark.skipif(not AXE, reason=WITHOUT_AXE)
def test_the_checker_finds_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "wrong.html"
    page.write_text("<!DOCTYPE html><html lang=en><title>t</title><main><h1>t</h1><img src='data:,'></main></html>")
    browser.open(page)
    browser.evaluate(f"{Path(AXE).read_text(encoding='utf-8')}; undefined")
    assert [found.partition(":")[0] for found in browser.evaluate(CHECK)] == ["image-alt"]


def test_a_phone_shows_all_of_the_width(browser: Browser, site: Path) -> None:
    browser.show(360, 740, is_dark=False)
    for page in PAGES:
        browser.open(site / page)
        assert browser.evaluate("document.documentElement.scrollWidth") <= 360, page


def test_light_and_dark(browser: Browser, site: Path) -> None:
    grounds = []
    for is_dark in (False, True):
        browser.show(1280, 900, is_dark=is_dark)
        browser.open(site / "index.html")
        grounds.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(255, 255, 255)", "rgb(15, 20, 25)"]


def test_search_by_keyboard(browser: Browser, site: Path) -> None:
    browser.open(site / "pools/foundation.html")
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert not any(url.endswith("search-index.js") for url in browser.requests), "the list is read too early"
    browser.press("/")
    assert browser.evaluate("document.activeElement.id") == "query"
    browser.evaluate(LISTED)
    browser.type("evals too")
    assert browser.evaluate("counted.textContent") == "1 found"
    browser.press("ArrowDown")
    assert browser.evaluate("document.activeElement.textContent").startswith("too-large Workflow")
    browser.press("ArrowUp")
    assert browser.evaluate("document.activeElement.id") == "query"
    browser.press("Escape")
    assert browser.evaluate("results.hidden && query.value === '' && counted.textContent === ''")
    browser.type("nothing is called this")
    assert browser.evaluate("counted.textContent") == "Nothing found"
    browser.press("Escape")
    browser.type("too-large")
    browser.follow(lambda: browser.press("Enter"))
    assert browser.evaluate("location.pathname").endswith("/work/workflow-too-large.html")
    assert browser.evaluate("document.querySelector('h1').innerText") == "Workflow\ntoo-large"


def test_what_is_found_is_text(browser: Browser, repository: Path, tmp_path: Path) -> None:
    assert kubectl_tas("init", repository).code == 0
    name = "<img src=x onerror=window.broken=1>"
    (repository / "workflows/bad.yaml").write_text(f"workflow:\n  name: {name}\n  pool: team\n  tasks: []\n")
    kubectl_tas("-C", repository, "report", "--to", tmp_path / "site", "--title", name)
    browser.open(tmp_path / "site/index.html")
    assert browser.evaluate("document.title") == name
    assert browser.evaluate("[window.broken === undefined, document.images.length]") == [True, 0]


INJECTED = """\
(() => {
  document.body.insertAdjacentHTML("beforeend", `<a id=link href="javascript:window.broken = 'link'">x</a>
    <img src="file:///etc/hostname" onerror="window.broken = 'handler'"><p id=styled style="color: red">x</p>`);
  for (const [name, text] of [["script", "window.broken = 'script'"], ["style", "#styled { color: red }"]]) {
    const made = document.createElement(name);
    made.textContent = text;
    document.body.append(made);
  }
  const elsewhere = document.createElement("script");
  elsewhere.src = "data:text/javascript,window.broken = 'elsewhere'";
  document.body.append(elsewhere);
  document.getElementById("link").click();
  const base = document.createElement("base");
  base.href = "https://example.com/";
  document.head.append(base);
  return new Promise(done => setTimeout(() => done(
    [window.broken ?? null, getComputedStyle(document.getElementById("styled")).color, document.baseURI]), 300));
})()
"""
"""What markup that got into a page would do."""


@pytest.mark.parametrize("page", ["index.html", "pools/foundation.html", "diff.html", "picture.html"])
def test_what_gets_into_a_page_does_not_run(chromium: Browser, site: Path, tmp_path: Path, page: str) -> None:
    where = site / page
    if not where.exists():
        repository = company(tmp_path / "repository", is_broken=False)
        commit(repository)
        command = ("diff", "--base", "HEAD") if page == "diff.html" else ("pool", "describe", "foundation")
        where = tmp_path / page
        where.write_text(kubectl_tas("-C", repository, *command, "-o", "html").out)
    chromium.problems.clear()
    chromium.open(where)
    assert chromium.problems == [], "the policy forbids something of the page itself"
    wide = "[...document.querySelectorAll('body, main')].some(item => getComputedStyle(item).maxWidth !== 'none')"
    assert chromium.evaluate(wide), "the style sheet counts"
    broken, colour, base = chromium.evaluate(INJECTED)
    assert (broken, colour == "rgb(255, 0, 0)", base) == (None, False, where.as_uri())
    refused = " ".join(chromium.problems)
    assert "Content Security Policy" in refused
    assert "script-src" in refused or "default-src" in refused
    chromium.problems.clear()


def test_indents_and_bars_need_no_inline_style(browser: Browser, site: Path) -> None:
    browser.open(site / "pools/index.html")
    assert browser.evaluate("document.querySelectorAll('[style]').length") == 0
    first = "parseFloat(getComputedStyle(document.querySelector('.indented')).paddingLeft) > 5"
    assert browser.evaluate(first)
    bar = "(bar => bar.firstElementChild.getBoundingClientRect().width / bar.getBoundingClientRect().width)"
    shares = browser.evaluate(f"[...document.querySelectorAll('svg.bar')].map({bar})")
    texts = browser.evaluate("[...document.querySelectorAll('svg.bar')].map(bar => bar.closest('td').innerText)")
    assert shares
    for share, text in zip(shares, texts, strict=True):
        assert share == pytest.approx(min(100, int(re.search(r"(\d+)%", text)[1])) / 100, abs=0.02)


def test_without_scripts_all_is_there_but_the_search(browser: Browser, site: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(site / "index.html")
        assert browser.evaluate("document.getElementById('search').hidden")
        place = browser.evaluate('document.querySelector(\'a[href^="work/"][href*="too-large"]\').href')
        browser.open(place)
        assert "a gang needs 16 GPUs" in browser.evaluate("document.querySelector('main').innerText")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


OF_PRODUCTS = ["suggest", "web", "next", "chat", "ranking", "embeddings"]
ROWS = "[...document.querySelectorAll('table[aria-labelledby=work] tbody tr')].map(row => row.innerText)"


def choose(browser: Browser, name: str, value: str) -> list[str]:
    """The names in the list once that is chosen."""
    browser.evaluate(
        f"(field => {{ field.value = '{value}'; field.dispatchEvent(new Event('change')) }})"
        f"(document.querySelector('select[name={name}]'))"
    )
    browser.evaluate(LISTED.replace("tasIndex ? done()", "tasWork ? setTimeout(done, 20)"))
    return [row.split("\t")[0] for row in browser.evaluate(ROWS)]


def test_filters_of_work(browser: Browser, site: Path) -> None:
    browser.open(site / "work/index.html")
    every = browser.evaluate(ROWS)
    assert browser.evaluate("[...document.querySelectorAll('select')].map(field => field.name)") == [
        "pool",
        "verdict",
        "kind",
    ]
    assert not any(url.endswith("work-list.js") for url in browser.requests), "the list is read too early"
    assert choose(browser, "pool", "products") == OF_PRODUCTS, "a department has what is below it"
    shown = browser.evaluate(ROWS)
    assert set(shown) < set(every), "rows look as they did before"
    assert browser.evaluate("matched.textContent") == f"6 of {len(every)}"
    assert choose(browser, "kind", "Deployment") == ["suggest", "web"]
    assert browser.evaluate("location.hash") == "#pool=products&kind=Deployment"
    assert choose(browser, "verdict", "draining") == []
    browser.open(site / "index.html")
    browser.open((site / "work/index.html").as_uri() + "#pool=foundation--evals&verdict=unschedulable")
    browser.evaluate("new Promise(done => setTimeout(done, 200))")
    assert [row.split("\t")[0] for row in browser.evaluate(ROWS)] == ["too-large"]
    browser.follow(lambda: browser.evaluate("document.querySelector('table a').click()"))
    assert browser.evaluate("location.pathname").endswith("/work/workflow-too-large.html")
    browser.open(site / "index.html")
    browser.open((site / "work/index.html").as_uri() + "#pool=nowhere")
    assert browser.evaluate(ROWS) == every
    choose(browser, "pool", "products")
    choose(browser, "pool", "")
    assert browser.evaluate(ROWS) == every
    assert browser.evaluate("location.hash + matched.textContent") == ""
