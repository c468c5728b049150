"""The page of a run as a person uses it: in Chromium, from disk, without a network."""

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.browsing import Opened, chromium

from askfirst.report.live import Watched
from askfirst.report.live_page import server
from askfirst.report.page import packed_plotly, write_report
from askfirst.store import write_lines, write_text

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore")]
EVIL = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 2'>"
LIMIT = 6_000_000  # bytes of a page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@contextlib.contextmanager
def serving(watched: Watched) -> Iterator[str]:
    with server(watched, 0) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{found.server_address[1]}/"
        finally:
            found.shutdown()
            thread.join()


def opened_at(browser: Any, path: Path, fragment: str = "", **options: Any) -> Opened:
    return Opened(browser, path.as_uri() + fragment, **options)


@pytest.fixture
def written(recorded):
    return write_report(recorded(says=EVIL, sets=(f"title={json.dumps(EVIL)}",)).root)


def test_it_opens_from_disk_draws_its_plots_and_asks_for_nothing_else(browser, written):
    opened = opened_at(browser, written)
    for place in opened.page.query_selector_all(".plot"):
        place.evaluate("place => { const box = place.closest('details'); if (box) box.open = true; }")
        place.scroll_into_view_if_needed()
    if packed_plotly():
        opened.page.wait_for_function("document.querySelectorAll('.plot:not(.js-plotly-plot)').length === 0")
    assert opened.wrong == []
    assert opened_at(browser, written).page.evaluate("window.scrollY") == 0  # it opens at the verdict
    assert [url.partition("#")[0] for url in opened.asked if not url.startswith(("blob:", "data:"))] == [
        written.as_uri()
    ]
    assert opened.page.evaluate("window.hit") is None
    assert opened.page.title().startswith(EVIL)


def test_filters_order_keys_and_deep_links(browser, written):
    opened = opened_at(browser, written)
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
    again = opened_at(browser, written, link)
    assert "request 3" in again.page.inner_text("#shown")
    assert EVIL in again.page.inner_text("#shown")
    assert again.page.evaluate("document.querySelectorAll('#shown .tokens i').length") == 2
    missing = opened_at(browser, written, "#rollout=nobody")
    assert "No rollout on this page has the name nobody" in missing.page.inner_text("#shown")
    assert opened.wrong == again.wrong == missing.wrong == []


def test_tables_sort_by_number_and_say_so(browser, written):
    page = opened_at(browser, written).page
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
    page = opened_at(browser, written, width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_a_run_of_many_rollouts_opens_quickly(browser, recorded):
    run = recorded()
    folder = run.variant("free", 1)
    base = json.loads(folder.best_rollouts.read_text().splitlines()[0])
    write_lines(folder.last_rollouts, [{**base, "scenario": f"m-{i}"} for i in range(20_000)])
    page = write_report(run.root)
    assert page.stat().st_size < LIMIT
    opened = opened_at(browser, page)
    opened.page.fill("input[name=text]", "request")
    assert "a sample of 20056 on record" in opened.page.inner_text("#count")
    loaded = opened.page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert loaded < 10_000  # milliseconds
    assert opened.wrong == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_nothing_keeps_anybody_out(browser, recorded, scheme, width):
    run = recorded()
    line = json.loads(run.variant("free", 0).metrics.read_text().splitlines()[0])
    alarm = {"monitors": {"over_asking": 0.4}, "alarms": {"over_asking": 0.4}}
    write_lines(run.variant("free", 0).metrics, [{**line, **alarm}])  # so that warnings are on the page too
    opened = opened_at(browser, write_report(run.root), width=width, scheme=scheme)
    for details in opened.page.query_selector_all("details"):
        details.evaluate("place => { place.open = true; }")
    if packed_plotly():
        opened.page.eval_on_selector_all(".plot", "all => all.forEach(draw)")
        opened.page.wait_for_selector(".plot:not(.js-plotly-plot)", state="detached")
    assert opened.barriers() == []


def test_axe_finds_a_planted_barrier(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<html lang=en><title>x</title><main><p style='color:#ccc'>pale</p><input></main>")
    assert [each.partition(":")[0] for each in opened_at(browser, page).barriers()] == ["color-contrast", "label"]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_the_page_of_a_run_under_watch(browser, recorded, scheme, width):
    run = recorded(says=EVIL)
    verdict = run.verdict.read_text()
    run.verdict.unlink()
    folder = run.variant("free", 1)
    write_text(folder.last_rollouts, folder.best_rollouts.read_text())
    with serving(Watched.of(run.root)) as address:
        opened = Opened(browser, address, width=width, scheme=scheme)
        opened.page.wait_for_selector("#variants article")
        assert opened.page.inner_text("#phase") == "training"
        assert opened.page.locator("#variants svg").count() == 4 * 5
        assert EVIL in opened.page.inner_text("#rollout")
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.barriers() == []
        write_text(run.verdict, verdict)  # the page sees it by itself
        opened.page.locator("#phase", has_text="INCONCLUSIVE").wait_for()
        assert "opened once" in opened.page.inner_text("#sentence")
    assert opened.page.evaluate("window.hit") is None
    assert {url.partition("#")[0] for url in opened.asked} == {address, f"{address}frame.json"}
    assert opened.wrong == []
