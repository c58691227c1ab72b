"""What all families of faults share: attempts, commands in this process, and the table.

An attempt follows from the seed, its family and its number alone, so each can be made again.
"""

import abc
import contextlib
import functools
import io
import os
import random
import shutil
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar
from unittest import mock

from mixedne.cli.main import main
from mixedne.evaluation import table
from mixedne.studies import folder as study_folder
from mixedne.studies import local
from mixedne.training import run as training
from mixedne.training.updates import make_updater
from probes.studies import InProcess

UNFINISHED = "unfinished"
"""What became of an attempt that lost the last metrics of a run without ``finished.json``."""


class Family(abc.ABC):
    """Faults of one kind. Making one prepares what its attempts mistreat copies of."""

    name: ClassVar[str]
    attempts: ClassVar[int]
    """How many at scale 1."""

    def __init__(self, folder: Path) -> None:
        """``folder`` is empty, and goes when the family is done."""
        self.folder = folder
        self.doing = ""
        """What the attempt does, for the details of a failure."""
        self.counts: Counter[str] = Counter()
        """Whatever else is worth counting."""

    @abc.abstractmethod
    def attempt(self, number: int, chance: random.Random, work: Path) -> str:
        """Do one thing in an empty folder; what became of it. A failure raises."""

    def close(self) -> None:
        """End what this family has started."""
        return


@dataclass
class Result:
    """What became of a family's attempts."""

    family: str
    tried: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: object
    stdout: str
    stderr: str

    def is_refusal(self, *codes: int) -> bool:
        """Whether it ended with one of these codes; then, what it said must be one sentence."""
        assert "Traceback" not in self.stderr, self.stderr
        assert self.code in (0, *codes), f"exit code {self.code}: {self.stderr}"
        if self.code:
            last = self.stderr.rstrip().splitlines()[-1]
            assert last.startswith("mixedne: "), f"no sentence: {self.stderr}"
        return bool(self.code)


def command(*arguments: str | Path) -> Answer:
    """``mixedne`` with these arguments, in this process."""
    # What a process remembers of files, and that it has warned, a new one would not know.
    study_folder._digest_at.cache_clear()
    table._warn_of_no_checksum.cache_clear()
    code: object
    out, err = io.StringIO(), io.StringIO()
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with streams[0], streams[1], warnings.catch_warnings():
        try:
            code = main([str(word) for word in arguments])
        except SystemExit as end:
            code = end.code
    return Answer(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def one_process() -> Iterator[None]:
    """Let studies run in this process, and runs with equal settings be compiled once."""
    compiled = functools.cache(make_updater)
    with (
        mock.patch.object(local, "LocalExecutor", InProcess),
        mock.patch.object(training, "make_updater", compiled),
        mock.patch.dict(os.environ, {"MIXEDNE_TRACEBACK": "1"}),
    ):
        yield


def run_family(kind: type[Family], seed: int, numbers: Sequence[int], folder: Path) -> Result:
    """Make these attempts of a family."""
    result, started = Result(kind.name), time.monotonic()
    work = folder / "work"
    (folder / "family").mkdir(parents=True)
    with one_process():
        family = kind(folder / "family")
        with contextlib.closing(family):
            for number in numbers:
                shutil.rmtree(work, ignore_errors=True)
                work.mkdir()
                result.tried += 1
                chance = random.Random(f"{seed} {kind.name} {number}")
                try:
                    result.outcomes[family.attempt(number, chance, work)] += 1
                except Exception as error:
                    said = str(error) if isinstance(error, AssertionError) else ""
                    said = said or "".join(traceback.format_exception(error))
                    again = f"--seed {seed} --only {kind.name} --number {number}"
                    result.failures.append(f"{again}\n{family.doing}\n{said.strip()[-3000:]}")
            result.outcomes += family.counts
    shutil.rmtree(folder)
    result.seconds = time.monotonic() - started
    return result


def as_table(results: Sequence[Result]) -> str:
    """A table in Markdown: a row for each family."""
    lines = [
        "| family | tried | survived | unfinished | failed | seconds | what became of them |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for result in results:
        unfinished = result.outcomes[UNFINISHED]
        survived = result.tried - unfinished - len(result.failures)
        others = {name: n for name, n in result.outcomes.items() if name != UNFINISHED}
        words = ", ".join(f"{n} {name}" for name, n in sorted(others.items()))
        lines.append(
            f"| {result.family} | {result.tried} | {survived} | {unfinished} "
            f"| {len(result.failures)} | {result.seconds:.0f} | {words} |"
        )
    return "\n".join(lines) + "\n"
