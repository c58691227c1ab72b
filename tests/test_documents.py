"""What the documents tell the reader to type runs, with fewer steps.

A block of code runs if a comment stands before it, which no reader sees. All blocks of a document
run in order, in one folder: lines that begin with ``mixedne``, Python code, and studies in TOML,
which are planned. The comment's further lines say what is different from what is printed:

    <!-- run
    before: a line to run first, in the block's own language
    with: OLD -> NEW
    without: lines with this text are left out
    -->
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from probes.commands import mixedne
from probes.pictures import skip_without_gl

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMENT = re.compile(r"^<!-- run\b", re.MULTILINE)
MARKED = re.compile(r"^<!-- run\b(.*?)-->\n+```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block that runs, as its comment changes it."""

    language: str
    text: str


def read_block(told: str, language: str, text: str) -> Block:
    """The block that a comment and the code below it make; each line must change something."""
    before = []
    for line in filter(None, map(str.strip, told.splitlines())):
        word, _, rest = line.partition(": ")
        old, _, new = rest.partition(" -> ")
        if word == "before":
            before.append(rest)
        elif word == "with" and new and old in text:
            text = text.replace(old, new)
        elif word == "without" and rest in text:
            text = "\n".join(each for each in text.splitlines() if rest not in each)
        else:
            raise ValueError(f"a comment says {line!r}, which fits no line below it:\n{text}")
    return Block(language, "\n".join([*before, text]))


def read_blocks(document: str) -> list[Block]:
    blocks = [read_block(*found) for found in MARKED.findall(document)]
    assert len(blocks) == len(COMMENT.findall(document)), "a comment stands before no block"
    return blocks


def commands(block: Block) -> Iterator[list[str]]:
    """The commands that a block stands for."""
    lines = [shlex.split(line, comments=True) for line in block.text.splitlines()]
    for words in filter(None, lines):
        assert words[0] == "mixedne", f"only mixedne can run, not {words[0]}"
        yield words[1:]


def run_block(block: Block, folder: Path) -> None:
    if block.language == "python":
        command = [sys.executable, "-c", block.text]
        subprocess.run(command, cwd=folder, check=True, timeout=600)
        return
    if block.language == "toml":
        (folder / "study.toml").write_text(block.text, "utf-8")
        block = Block("", "mixedne study study.toml --dry-run --out planned")
    for arguments in commands(block):
        done = mixedne(*arguments, cwd=folder)
        assert done.returncode == 0, f"mixedne {shlex.join(arguments)}\n{done.stderr}"


MARKED_DOCUMENTS = [path for path in DOCUMENTS if COMMENT.search(path.read_text("utf-8"))]


@pytest.mark.slow
@pytest.mark.parametrize("path", MARKED_DOCUMENTS, ids=lambda path: path.stem)
def test_the_marked_blocks_run(path: Path, tmp_path: Path) -> None:
    blocks = read_blocks(path.read_text("utf-8"))
    if any("mixedne watch" in block.text for block in blocks):
        skip_without_gl()
    for block in blocks:
        run_block(block, tmp_path)


def test_the_marked_blocks_are_what_their_comments_say() -> None:
    assert {path.stem for path in MARKED_DOCUMENTS} >= {"README", "evaluation", "studies"}
    for path in MARKED_DOCUMENTS:
        assert read_blocks(path.read_text("utf-8"))


def test_a_comment_changes_the_block_below_it() -> None:
    document = (
        "<!-- run\nbefore: mixedne a\nwith: --out -> --steps 3 --out\nwithout: zip\n-->\n"
        "```\nmixedne train x --out y  # a remark\nmixedne evaluate z.zip\n```\n"
    )
    (block,) = read_blocks(document)
    assert list(commands(block)) == [["a"], ["train", "x", "--steps", "3", "--out", "y"]]


@pytest.mark.parametrize(
    "document",
    [
        "<!-- run\nwith: absent -> new\n-->\n```\nmixedne\n```\n",
        "<!-- run\nwithout: absent\n-->\n```\nmixedne\n```\n",
        "<!-- run\nsteps=3\n-->\n```\nmixedne\n```\n",
        "<!-- run -->\nno block\n",
    ],
)
def test_comments_that_do_nothing_are_noticed(document: str) -> None:
    with pytest.raises((ValueError, AssertionError)):
        read_blocks(document)


def test_a_command_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="mixedne evaluate nowhere"):
        run_block(Block("", "mixedne evaluate nowhere"), tmp_path)
