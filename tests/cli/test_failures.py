"""Whatever goes wrong ends in one sentence and an exit code."""

import json
import math
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from mixedne.cli.main import main
from mixedne.cli.streams import note
from mixedne.config import configure
from mixedne.errors import InvalidInputError, parse_json
from mixedne.files import read_json, write_json
from mixedne.policies import save_policy
from probes.commands import COMMAND
from probes.policies import random_policy
from probes.runs import limited_command
from probes.tables import pretend_evaluated, shifts


def run(*arguments: Any, shell: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own; ``shell`` is written behind it, as ``2>&-``."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    command = ["sh", "-c", f'exec "$@" {shell}', "sh", *COMMAND, *arguments]
    return subprocess.run(command, text=True, check=False, timeout=300, **streams)


INTERRUPT = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(50)\n"
IN_A_CALLBACK = """
import gc, os, signal, time
def interrupt(*_):
    gc.callbacks.clear()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)
gc.callbacks.append(interrupt)
gc.collect()
time.sleep(50)
"""


@pytest.mark.usefixtures("heeded_ctrl_c")
@pytest.mark.parametrize("code", [INTERRUPT, IN_A_CALLBACK])
@pytest.mark.parametrize("module", ["rich", "tyro", "numpy"])
def test_ctrl_c_during_imports_is_no_traceback(module: str, code: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.py").write_text(code)
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = run("saddle", env={**os.environ, "PYTHONPATH": paths})
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "mixedne: interrupted\n")


def test_without_stderr_nothing_goes_astray(tmp_path: Path) -> None:
    pretend_evaluated(tmp_path / "results", shifts(mass=(0.5, 1.0)))
    words = ["report", "results", "--json", "--out", "page.html"]
    done = run(*words, shell="2>&-", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["missing"]  # and no notes about it
    done = run(*words, shell="2>&-", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")  # the page exists


def test_without_stdout_there_is_no_word_about_it() -> None:
    done = run("presets", shell=">&-")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [["presets"], ["presets", "--json"], ["--help"]])
def test_where_stdout_is_full_it_is_said(arguments: list[str]) -> None:
    done = run(*arguments, shell=">/dev/full")
    assert done.returncode == 1
    assert done.stderr == "mixedne: [Errno 28] No space left on device\n"


def test_where_stderr_is_full_the_exit_code_is_kept() -> None:
    assert run("sadle", shell="2>/dev/full").returncode == 2


def test_a_note_that_nobody_reads_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        monkeypatch.setattr("sys.stderr", closed)
        note("one")
        note("two")


@pytest.mark.parametrize("columns", ["1", "9"])
def test_help_ends_on_the_narrowest_terminal(columns: str) -> None:
    done = run("saddle", "--help", env={**os.environ, "COLUMNS": columns})
    assert done.returncode == 0
    assert "--start" in done.stdout


class Panic(BaseException):
    """As polars raises it."""


@pytest.mark.parametrize("kind", [ZeroDivisionError, RecursionError, Panic])
def test_what_nobody_expected_keeps_its_traceback(
    kind: type[BaseException],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def parse(_: Any) -> None:
        raise kind("first\n second")

    monkeypatch.setattr("mixedne.cli.parse.parse", parse)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main(["presets"]) == 1
    said = capsys.readouterr().err
    found = re.fullmatch(
        r"mixedne: unexpected (.*) \(the traceback is in (.*); please .*\)\n", said
    )
    assert found, said
    assert found[1] == f"{kind.__name__}: first second"
    assert "Traceback (most recent call last)" in Path(found[2]).read_text()

    monkeypatch.setenv("MIXEDNE_TRACEBACK", "1")
    assert main(["presets"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("Traceback (most recent call last)")
    assert said.splitlines()[-1].startswith(f"mixedne: unexpected {kind.__name__}")
    assert len(list(tmp_path.iterdir())) == 1

    monkeypatch.delenv("MIXEDNE_TRACEBACK")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    assert main(["presets"]) == 1
    assert "MIXEDNE_TRACEBACK=1 shows the traceback" in capsys.readouterr().err


def test_a_path_that_is_no_text_is_refused(tmp_path: Path) -> None:
    for words in (["evaluate", b"run\xff"], ["train", "Hopper", "--out", b"run\xff"]):
        done = run(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr == (
            r"mixedne: 'run\udcff' cannot be written as utf-8: choose another name" "\n"
        )
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_said_with_the_file(tmp_path: Path) -> None:
    save_policy(tmp_path / "run", random_policy("InvertedPendulum-v5"))
    words = ["evaluate", "run", "--episodes", "1", "--out", "table.parquet"]
    done = subprocess.run(
        [*limited_command(1000), *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert re.fullmatch(r"mixedne: .*table.*\.parquet cannot be written: File too large", last)
    assert not (tmp_path / "table.parquet").exists()


class Unread(list[int]):
    """A list that is too long to go through."""

    def __iter__(self) -> Any:
        raise AssertionError


def test_a_million_layers_are_refused_at_once() -> None:
    with pytest.raises(InvalidInputError, match="hidden must be at most 1000 numbers, not 1000000"):
        configure("Hopper", hidden=Unread([8] * 1_000_000))


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("text", ["1" + 400 * "0", "1e999", "-1e308", "Infinity", "NaN", DEEP])
def test_absurd_json_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=r"must be below 2\^63|nested too deeply"):
        parse_json(f'{{"steps": {text}}}')
    save_policy(tmp_path, random_policy("InvertedPendulum-v5"))
    (tmp_path / "config.json").write_text(f'{{"steps": {text}}}')
    assert main(["evaluate", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"mixedne: {tmp_path / 'config.json'} is damaged")
    assert said.count("\n") == 1
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "page.html")]) in (0, 2)
    assert "unexpected" not in capsys.readouterr().err


def test_json_that_is_written_can_be_read(tmp_path: Path) -> None:
    """Of an attack that breaks the simulator, say."""
    write_json(tmp_path / "a.json", {"chosen_by": math.inf, "returns": [1.5, math.nan]})
    assert read_json(tmp_path / "a.json") == {"chosen_by": None, "returns": [1.5, None]}


def test_usual_json_is_read() -> None:
    text = '{"a": [1, -2.5, 1e-9, 9223372036854775807], "b": null, "c": "1e999"}'
    assert parse_json(text) == json.loads(text)


@pytest.mark.parametrize("text", [DEEP, 5000 * "1"])
def test_an_absurd_study_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.toml").write_text(f"a = {text}")
    assert main(["study", str(tmp_path / "study.toml"), "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert "study.toml is no TOML: " in said
    assert said.count("\n") == 1
