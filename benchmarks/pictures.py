"""The pictures of the documentation, taken of a finished run whose report is written: docs/img/*.png."""

from __future__ import annotations

import argparse
import io
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from rich.console import Console

from askfirst.demo.app import launch
from askfirst.report.live import Watched
from askfirst.report.live_page import server
from askfirst.report.terminal import shown

OUT = Path(__file__).parents[1] / "docs" / "img"
MOST = 150_000  # bytes of a picture
WIDE, TALL = 1100, 700
COLUMNS = 110  # of the terminal, as many as fit
Take = Callable[[str], None]


def report(page: Any, run: Path, take: Take) -> None:
    """First screen, curves and rollouts."""
    page.goto((run / "report.html").resolve().as_uri())
    page.wait_for_timeout(1000)
    take("report")
    page.locator("#training").scroll_into_view_if_needed()
    page.evaluate("document.getElementById('training').scrollIntoView({ behavior: 'instant' })")
    page.wait_for_timeout(4000)
    take("curves")
    page.select_option("select[name=outcome]", "win")
    page.evaluate("document.getElementById('rollouts').scrollIntoView({ behavior: 'instant' })")
    page.locator("#list li").nth(1).click()
    page.wait_for_timeout(500)
    take("rollouts")


def terminal(page: Any, run: Path, take: Take) -> None:
    """The terminal of `askfirst watch` and its page."""
    watched = Watched.of(run)
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(shown(watched.frame(time.time()), COLUMNS))
    page.set_content(console.export_html(inline_styles=True))
    page.locator("pre").screenshot(path=OUT / "watch.png")
    with server(watched, 0) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{serving.server_address[1]}/")
        page.locator("#variants article").first.wait_for()
        take("watch-page")
        serving.shutdown()


def chat(page: Any, run: Path, take: Take, number: int) -> None:
    """A turn of live chat."""
    app = launch(run, wait=False)
    page.goto(app.local_url)
    page.get_by_role("tab", name="Live chat").click()
    page.get_by_label("Task number").first.fill(str(number))
    page.get_by_role("button", name="Draw this task").click()
    page.wait_for_function("[...document.querySelectorAll('textarea')].some(t => t.value)")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_function("document.body.innerText.match(/nats a token/g)?.length === 2")
    page.set_viewport_size({"width": WIDE, "height": 1200})
    take("demo")
    app.close()


def main() -> None:
    """Take all of them; stops where one is larger than it may be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--task", type=int, default=0, help="of split dev, for the live chat")
    given = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDE, "height": TALL}, color_scheme="light")
        page.set_default_timeout(120_000)

        def take(name: str) -> None:
            page.screenshot(path=OUT / f"{name}.png")

        report(page, given.run, take)
        terminal(page, given.run, take)
        chat(page, given.run, take, given.task)
        browser.close()
    for path in sorted(OUT.glob("*.png")):
        size = path.stat().st_size
        print(f"{path} {size}")
        if size > MOST:
            raise SystemExit(f"{path} is larger than {MOST} bytes")


if __name__ == "__main__":
    main()
