"""The repository as a site.

Files keep their place in the repository as their name, also those outside ``docs/``, so the links
that work there work here, and MkDocs checks them. Pages that would repeat what the code says are
made at build time: the API from docstrings, the command line from ``--help``, the tour from its
notebook. ``mixedne`` is found by the environment variable ``MIXEDNE``, or in ``.venv``.
"""

import json
import os
import re
import subprocess
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
REFERENCE = "docs/reference/"
LINKED = ("CITATION.cff",)
"""What pages link to and the navigation does not list."""
MARKER = re.compile(r"^<!-- run\b.*?-->\n", re.MULTILINE | re.DOTALL)
"""Comments for the test that runs the commands of the documents."""


class Notebook(File):
    """A notebook as a page."""

    def is_documentation_page(self) -> bool:
        """Whether MkDocs makes a page of it."""
        return True


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """All pages and figures, named by their place in the repository."""
    for file in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(file)
        files.append(repository_file(f"docs/{file.src_uri}", config, file.dest_uri))
    for path in [x for x in (*LINKED, *nav_paths(config.nav)) if not files.get_file_from_path(x)]:
        if path.startswith(REFERENCE):
            page = File.generated(config, path, content=reference(Path(path).stem))
            page.dest_uri = page.dest_uri.removeprefix("docs/")
        elif path.endswith(".ipynb"):
            page = Notebook(path, None, config.site_dir, False, dest_uri=f"{Path(path).stem}.html")
            page.content_string = notebook_page(json.loads((ROOT / path).read_text("utf-8")))
        else:
            page = repository_file(path, config, page_name(path))
        files.append(page)
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Pages without the comments that are meant for tests; the first has no neighbours to list."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    return MARKER.sub("", markdown)


def repository_file(path: str, config: MkDocsConfig, dest_uri: str) -> File:
    """A file of the repository at a place in the site."""
    return File(path, str(ROOT), config.site_dir, False, dest_uri=dest_uri)


def nav_paths(entry: Any) -> Iterator[str]:
    """All files that the navigation names."""
    if isinstance(entry, str):
        yield entry
    else:
        for each in entry.values() if isinstance(entry, dict) else entry:
            yield from nav_paths(each)


def page_name(path: str) -> str:
    """README.md is the first page; a README further down has its folder's name."""
    if not path.endswith(".md"):
        return path
    name = Path(path).parent.name or "index" if path.endswith("README.md") else Path(path).stem
    return f"{name.lower().replace('_', '-')}.html"


def reference(name: str) -> str:
    """A page of the reference, as Markdown."""
    if name == "cli":
        return command_line()
    module = name if name == "mixedne" else f"mixedne.{name}"
    return f"# `{module}`\n\n::: {module}\n"


def command_line() -> str:
    """What ``--help`` says of the program and of every command that it lists."""
    program = run_help()
    commands = re.findall(r"^  ([a-z]+) {2,}", program, re.MULTILINE)
    with ThreadPoolExecutor() as pool:
        told = pool.map(run_help, commands)
    sections = [
        f"## mixedne {name}\n\n{help_page(text)}" for name, text in zip(commands, told, strict=True)
    ]
    return "\n\n".join(["# Command line", help_page(program), *sections])


def run_help(*command: str) -> str:
    """What a command says of itself."""
    program = os.environ.get("MIXEDNE", str(ROOT / ".venv" / "bin" / "mixedne"))
    plain = os.environ | {"COLUMNS": "82", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    try:
        done = subprocess.run(
            [program, *command, "--help"], env=plain, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise PluginError(f"no help from {program}: {error}") from error
    return done.stdout.decode()


def help_page(text: str) -> str:
    """Prose as paragraphs; usage, options and whatever is indented as it was printed."""
    prose, box, options = text.strip().partition("╭")
    blocks = []
    for block in re.split(r"\n\s*\n", prose.strip()):
        lines = block.splitlines()
        if lines[0].startswith("usage:") or all(line.startswith(" ") for line in lines):
            blocks.append(fenced(block))
        else:
            indented = next((i for i, x in enumerate(lines) if x.startswith(" ")), len(lines))
            blocks.append(re.sub(r"([\\*_<>\[\]#])", r"\\\1", "\n".join(lines[:indented])))
            blocks += [fenced("\n".join(lines[indented:]))] if lines[indented:] else []
    return "\n\n".join(blocks + ([fenced(box + options)] if box else []))


def fenced(text: str, language: str = "text") -> str:
    """Text as a block of code."""
    return f"````{language}\n{textwrap.dedent(text).strip()}\n````"


def notebook_page(notebook: dict[str, Any]) -> str:
    """An executed notebook as Markdown, with its outputs."""
    blocks = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            blocks.append(source)
        else:
            blocks.append(fenced(source, "python"))
            blocks += map(output_block, cell["outputs"])
    return "\n\n".join(blocks)


def output_block(output: dict[str, Any]) -> str:
    """What a cell printed, drew or returned."""
    if output["output_type"] == "stream":
        return fenced("".join(output["text"]))
    data = {kind: "".join(value) for kind, value in output["data"].items()}
    if "image/png" in data:
        picture = f'<img alt="" src="data:image/png;base64,{data["image/png"].strip()}">'
        return f'<div class="output">{picture}</div>'
    if "text/html" in data:
        return f'<div class="output">{data["text/html"]}</div>'
    return fenced(data["text/plain"])
