"""A page in a real browser, with all that it complained about and asked for."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def launched() -> Iterator[Any]:
    """Chromium without a window; the test is skipped if there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if program is None:
        pytest.skip("Chromium is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        yield browser
        browser.close()


class View:
    """A file opened from disk."""

    def __init__(self, browser: Any, path: Path, place: str = "", **context: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        context = {"viewport": {"width": 1280, "height": 800}} | context
        self.page = browser.new_page(**context)
        self.page.set_default_timeout(60_000)
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.path = path
        self.go(place)

    def go(self, place: str) -> None:
        """Open the file at a place; within a page that is open, only the selection changes."""
        self.page.goto(self.path.as_uri() + place)
        self.page.evaluate("new Promise(resolve => setTimeout(resolve))")  # after hashchange
        self.page.wait_for_selector("main section")

    def elsewhere(self) -> list[str]:
        """Requests for anything but the file and what it holds."""
        return [
            x for x in self.requests if not x.startswith((self.path.as_uri(), "blob:", "data:"))
        ]

    def show(self, section: str) -> None:
        """Bring a section into view and wait until it stands."""
        self.page.evaluate("id => document.getElementById(id).scrollIntoView()", section)
        self.page.wait_for_selector(f"#{section}[data-state=drawn]")

    def show_all(self) -> None:
        for section in self.page.query_selector_all("main section"):
            self.show(section.get_attribute("id"))

    def choose(self, key: str, text: str) -> None:
        """Choose by what a person reads in the select."""
        self.page.select_option(f"#select-{key}", label=text)

    def offered(self, key: str) -> list[str]:
        return self.page.eval_on_selector_all(
            f"#select-{key} option", "options => options.map(option => option.text)"
        )

    def chosen(self, key: str) -> str:
        return self.page.eval_on_selector(
            f"#select-{key}", "select => select.options[select.selectedIndex].text"
        )

    def traces(self, section: str, plot: str, kind: str) -> list[dict[str, Any]]:
        """What Plotly was given, of one kind."""
        self.show(section)
        found = self.page.eval_on_selector(plot, "plot => JSON.parse(JSON.stringify(plot.data))")
        return [trace for trace in found if trace["kind"] == kind]

    def panels(self, section: str, host: str, kind: str) -> dict[str, list[dict[str, Any]]]:
        """The same for many small plots, by their headings."""
        self.show(section)
        found = self.page.eval_on_selector_all(
            f"#panels-{host} .panel",
            """panels => panels.map(panel => [
                 panel.querySelector('h4').textContent,
                 JSON.parse(JSON.stringify(panel.querySelector('.plot').data)),
               ])""",
        )
        return {head: [x for x in traces if x["kind"] == kind] for head, traces in found}

    def saved(self, button: str) -> Path:
        """What a click on a button saves."""
        with self.page.expect_download() as download:
            self.page.click(button)
        return Path(download.value.path())

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)


Opener = Callable[..., View]
"""Opens a page at a place."""
