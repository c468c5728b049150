"""The page of a run as a person uses it: in Chromium, from disk, without a network."""

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from askfirst.report.page import packed_plotly, write_report
from askfirst.store import write_lines

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore")]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
EVIL = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 2'>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


class Opened:
    """A page that was opened, with everything that it asked for and complained of."""

    def __init__(self, browser: Any, path: Any, fragment: str = "", width: int = 1280) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.asked: list[str] = []
        self.wrong: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.goto(path.as_uri() + fragment)


@pytest.fixture
def written(recorded):
    return write_report(recorded(says=EVIL, sets=(f"title={json.dumps(EVIL)}",)).root)


def test_it_opens_from_disk_draws_its_plots_and_asks_for_nothing_else(browser, written):
    opened = Opened(browser, written)
    for place in opened.page.query_selector_all(".plot"):
        place.evaluate("place => { const box = place.closest('details'); if (box) box.open = true; }")
        place.scroll_into_view_if_needed()
    if packed_plotly():
        opened.page.wait_for_function("document.querySelectorAll('.plot:not(.js-plotly-plot)').length === 0")
    assert opened.wrong == []
    assert Opened(browser, written).page.evaluate("window.scrollY") == 0  # it opens at the verdict
    assert [url.partition("#")[0] for url in opened.asked if not url.startswith(("blob:", "data:"))] == [
        written.as_uri()
    ]
    assert opened.page.evaluate("window.hit") is None
    assert opened.page.title().startswith(EVIL)


def test_filters_order_keys_and_deep_links(browser, written):
    opened = Opened(browser, written)
    page, items = opened.page, "document.querySelectorAll('#list li').length"
    assert page.evaluate(items) == 56
    page.select_option("select[name=outcome]", "win")
    assert page.evaluate(items) == 20
    assert page.inner_text("#count") == "20 of 56 shown on this page"
    page.select_option("select[name=family]", "several.tab")
    assert page.evaluate(items) == 10
    page.fill("input[name=text]", "nobody says this")
    assert page.evaluate(items) == 0
    for name in ("outcome", "family"):
        page.select_option(f"select[name={name}]", "")
    page.fill("input[name=text]", "request 3")
    assert page.evaluate(items) == 4
    page.focus("#list")
    page.keyboard.press("End")
    assert "free/seed-1" in page.inner_text("#shown")
    link = page.evaluate("location.hash")
    again = Opened(browser, written, link)
    assert "request 3" in again.page.inner_text("#shown")
    assert EVIL in again.page.inner_text("#shown")
    assert again.page.evaluate("document.querySelectorAll('#shown .tokens i').length") == 2
    missing = Opened(browser, written, "#rollout=nobody")
    assert "No rollout on this page has the name nobody" in missing.page.inner_text("#shown")
    assert opened.wrong == again.wrong == missing.wrong == []


def test_tables_sort_by_number_and_say_so(browser, written):
    page = Opened(browser, written).page
    table = "#outcomes table"
    page.click(f"{table} th:nth-child(5) button")
    assert page.get_attribute(f"{table} th:nth-child(5)", "aria-sort") == "descending"
    values = page.eval_on_selector_all(
        f"{table} >> nth=0 >> tbody td:nth-child(5)", "all => all.map(c => +c.dataset.value)"
    )
    assert values == sorted(values, reverse=True)
    assert len(set(values)) > 1


@pytest.mark.parametrize("width", [375, 1280])
def test_nothing_is_wider_than_the_screen_and_colours_can_be_changed(browser, written, width):
    page = Opened(browser, written, width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_a_run_of_many_rollouts_opens_quickly(browser, recorded):
    run = recorded()
    folder = run.variant("free", 1)
    base = json.loads(folder.best_rollouts.read_text().splitlines()[0])
    write_lines(folder.last_rollouts, [{**base, "scenario": f"m-{i}"} for i in range(20_000)])
    opened = Opened(browser, write_report(run.root))
    opened.page.fill("input[name=text]", "request")
    assert "a sample of 20056 on record" in opened.page.inner_text("#count")
    loaded = opened.page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert loaded < 10_000  # milliseconds
    assert opened.wrong == []
