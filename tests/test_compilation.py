"""The cache of compiled programs: whose it is, what kills leave, and that no bit depends on it."""

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from mixedne.cli.parse import parse
from mixedne.compilation import cache_folder, cache_settings
from probes.commands import COMMAND
from probes.runs import LANGEVIN, results


def test_programs_are_kept_where_only_the_user_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cache = tmp_path / "cache" / "mixedne" / "programs"
    assert cache_settings()["JAX_COMPILATION_CACHE_DIR"] == str(cache)
    assert cache.stat().st_mode & 0o777 == 0o700
    cache.chmod(0o777)  # others could have put programs there
    assert cache_folder() is None
    assert cache_settings() == {}
    cache.chmod(0o700)
    cache.parent.chmod(0o777)  # others could put another folder in its place
    assert cache_folder() is None
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, by its specification
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "mixedne" / "programs"
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache_folder() is None
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    assert cache_settings() == {}


def test_what_a_killed_writer_leaves_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = cache_folder()
    assert cache is not None
    for name in ("whole-cache", "whole-atime", "half-cache"):
        (cache / name).touch()
    cache_settings()
    assert {path.name for path in cache.glob("*-*")} == {"whole-cache", "whole-atime"}


@pytest.mark.parametrize(
    ("work", "command"),
    [
        ("mixedne.training.run.train_config", ["train", "InvertedPendulum-v5"]),
        ("mixedne.training.attack.attack", ["attack", "zoo:hopper-ddpg-gad", "--on", "action"]),
    ],
)
def test_commands_that_train_keep_programs_unless_told_otherwise(
    work: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []
    use = f"mixedne.cli.{command[0]}.use_compilation_cache"
    monkeypatch.setattr(use, lambda: kept.append("programs"))
    monkeypatch.setattr(work, Mock(side_effect=KeyboardInterrupt))
    for options in (["--no-cache"], []):
        assert not kept
        with pytest.raises(KeyboardInterrupt):
            parse([*command, *options]).run()
    assert kept


PROGRAM = """
import jax, jax.numpy as jnp

def program(x):
    return jnp.sin(x @ x.T).sum(axis=0) * jax.random.normal(jax.random.key(0), (30,))

print(jax.jit(program)(jnp.linspace(0, 3, 900).reshape(30, 30)).tobytes().hex())
"""


def run(arguments: list[str], home: Path | None) -> "subprocess.Popen[str]":
    """A process with an empty or a filled cache of its own, or without any."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    if home is None:
        ours["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    else:
        ours["XDG_CACHE_HOME"] = str(home)
    pipe = subprocess.PIPE
    return subprocess.Popen(arguments, env=ours, text=True, stdout=pipe, stderr=pipe)


@pytest.mark.slow
def test_two_processes_fill_it_at_once_and_a_third_finds_the_same_bits(tmp_path: Path) -> None:
    use = "from mixedne.compilation import use_compilation_cache; use_compilation_cache()"
    command = [sys.executable, "-W", "error", "-c", use + PROGRAM]
    together = [run(command, tmp_path) for _ in range(2)]
    said = [process.communicate() for process in together]
    programs = sorted((tmp_path / "mixedne" / "programs").glob("*-cache"))
    times = [path.stat().st_mtime_ns for path in programs]
    said += [run(command, tmp_path).communicate(), run(command, None).communicate()]
    assert {error for _, error in said} == {""}
    assert len({output for output, _ in said}) == 1
    assert len(said[0][0]) > 200
    assert programs
    assert times == [path.stat().st_mtime_ns for path in programs]  # the third made nothing anew


@pytest.mark.slow
def test_runs_end_the_same_with_and_without_the_cache(tmp_path: Path) -> None:
    """Cold, warm, and without: also the programs of training, which are larger."""
    ended = []
    for name, home in {"cold": tmp_path, "warm": tmp_path, "without": None}.items():
        arguments = [*COMMAND, "train", *LANGEVIN, "--out", str(tmp_path / name)]
        process = run(arguments, home)
        _, said = process.communicate()
        assert process.returncode == 0, said
        ended.append(results(tmp_path / name))
    assert ended[0] == ended[1] == ended[2]
    programs = tmp_path / "mixedne" / "programs"
    assert len([*programs.glob("*-cache")]) > 10
