"""Pages as a person meets them: Debian's Chromium driven by Playwright, and axe-core for what keeps somebody out."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
GRAVE = ("serious", "critical")
# What is still fading in has too little contrast and is no fault: wait for what Gradio marks and for all transitions.
AT_REST = (
    "() => !document.querySelector('.pending, .generating') "
    "&& document.getAnimations().every(each => each.playState !== 'running')"
)


def chromium() -> Iterator[Any]:
    """The browser; skips with the reason where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra dev")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


class Opened:
    """A page that was opened, with everything that it asked for and complained of."""

    def __init__(self, browser: Any, address: str, width: int = 1280, scheme: str = "light") -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.set_default_timeout(120_000)
        self.asked: list[str] = []
        self.wrong: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.goto(address)

    def barriers(self) -> list[str]:
        """What axe-core calls serious or critical once the page is at rest, each with the first place where it is."""
        self.page.wait_for_function(AT_REST)
        axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
        found = axe.Axe().run(self.page, options={"resultTypes": ["violations"]}).response["violations"]
        return [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found if v["impact"] in GRAVE]
