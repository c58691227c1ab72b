"""A browser, and the sample page open in it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mixedne.reports.page import write_page
from probes.browser import Opener, View, launched
from probes.report import sample_report


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """For one module: Playwright's event loop must not meet the tests of others."""
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "sample.html"
    write_page(sample_report(), path)
    return path


@pytest.fixture(scope="module")
def shared(browser: Any, sample: Path) -> View:
    return View(browser, sample)


@pytest.fixture
def view(browser: Any, shared: View) -> Iterator[Opener]:
    """Open a page at a place, the sample's unless told; none may complain or ask for more."""
    opened = [shared]

    def open_view(place: str = "#", path: Path | None = None, **context: Any) -> View:
        if path is None and not context:
            shared.go(place)
            return shared
        opened.append(View(browser, path or shared.path, place, **context))
        return opened[-1]

    yield open_view
    for each in opened:
        assert each.complaints == []
        assert each.elsewhere() == []
    for each in opened[1:]:
        each.page.close()
