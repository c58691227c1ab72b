"""The documentation as a site stands alone, and no link leads nowhere. `make docs` first."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from probes.browser import launched

ROOT = Path(__file__).parents[1]
MKDOCS = ROOT / ".venv-docs" / "bin" / "mkdocs"
LOADED = {"link": "href", "script": "src", "img": "src", "video": "src", "source": "src"}
LOADED |= {"iframe": "src", "object": "data"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not MKDOCS.exists(), reason="MkDocs is not installed: make docs"),
]


def build(folder: Path, repository: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Build with the package under test, and without a way to other hosts."""
    program = folder.parent / "mixedne"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mixedne.cli.main "$@"\n')
    program.chmod(0o755)
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    return subprocess.run(
        [MKDOCS, "build", "--strict", "--site-dir", folder],
        env=os.environ | nowhere | {"MIXEDNE": str(program), "NO_MKDOCS_2_WARNING": "1"},
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


class Assets(HTMLParser):
    """What a page loads by itself."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "link" and told.get("rel") in ("canonical", "next", "prev"):
            return
        self.found.append(told.get(LOADED.get(tag, "")) or "")


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_part_of_the_repository_has_its_page(site: Path) -> None:
    names = {str(page.relative_to(site)) for page in pages(site)}
    documents = {f"{path.stem}.html" for path in (ROOT / "docs").glob("*.md")}
    others = {"index", "tour", "contributing", "changelog", "benchmarks", "reference/cli"}
    assert names >= documents | {f"{name}.html" for name in others}


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in pages(site):
        found = Assets(page).found
        assert any(found)
        assert not [address for address in found if re.match(r"(https?:)?//", address)], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text("utf-8"))


@pytest.mark.parametrize("place", ["disk", "server"])
def test_every_page_opens_without_complaint(
    site: Path, server: str, browser: Any, place: str
) -> None:
    start = server if place == "server" else site.as_uri()
    names = [str(path.relative_to(site)) for path in pages(site)]
    if place == "disk":
        names.remove("404.html")  # servers alone show it, for any address
    page = browser.new_page()
    complaints: list[str] = []
    failed: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: failed.append(f"{request.failure} {request.url}"))
    page.on("request", lambda request: requests.append(request.url))
    for name in names:
        page.goto(f"{start}/{name}", wait_until="networkidle")
        assert page.inner_text("h1"), name
        assert complaints == [], name
    # What a page still loads when the browser leaves it is aborted; all else has failed.
    assert [x for x in failed if not x.startswith("net::ERR_ABORTED ")] == []
    assert len(requests) > len(names)
    assert [x for x in requests if not x.startswith((f"{start}/", "data:", "blob:"))] == []
    page.close()


@pytest.mark.parametrize("place", ["disk", "server"])
def test_the_search_finds_a_function(site: Path, server: str, browser: Any, place: str) -> None:
    start = server if place == "server" else site.as_uri()
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{start}/index.html")
    page.click(".md-search__input")
    page.keyboard.type("scale_by_langevin")
    link = page.wait_for_selector(".md-search-result__link[href*='reference/optimizers']")
    assert link is not None
    page.close()


def test_the_reference_has_what_the_package_exports(site: Path) -> None:
    python = (site / "reference" / "mixedne.html").read_text("utf-8")
    for name in ("train", "evaluate", "load_policy", "watch", "results"):
        assert f'id="mixedne.{name}"' in python
    solvers = (site / "reference" / "solvers.html").read_text("utf-8")
    assert 'id="mixedne.solvers.mixedne_ld"' in solvers
    games = (site / "reference" / "games.html").read_text("utf-8")
    assert 'id="mixedne.games.parallel_env"' in games
    assert "--mass-mode" in (site / "reference" / "cli.html").read_text("utf-8")


def test_pages_show_no_remarks_for_tests(site: Path) -> None:
    assert not [page for page in pages(site) if "<!-- run" in page.read_text("utf-8")]


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    copy = tmp_path / "repository"
    for folder in ("docs", "src", "benchmarks", "examples", "results"):
        shutil.copytree(ROOT / folder, copy / folder)
    for path in (*ROOT.glob("*.md"), ROOT / "mkdocs.yml", ROOT / "CITATION.cff"):
        shutil.copy(path, copy)
    with (copy / "docs" / "algorithms.md").open("a") as page:
        page.write("[a place](solvers.md#no-such-place) [a file](../src/no-such-file.md)\n")
    done = build(tmp_path / "site", copy)
    assert done.returncode != 0
    assert "no-such-place" in done.stderr
    assert "no-such-file" in done.stderr
