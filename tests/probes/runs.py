"""Tiny training runs in processes of their own, to be killed, starved and resumed."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mixedne.cli.parse import parse
from mixedne.config import Config
from mixedne.metrics import read_metrics
from mixedne.policies import NAMES
from probes.commands import COMMAND

TIMES = ("seconds", "steps_per_second")
"""What differs between two runs that are otherwise the same."""

SMALL = (
    *("--hidden", "8", "--batch-size", "8", "--collect-steps", "10", "--updates", "4"),
    *("--update-after", "20", "--metrics-every", "40", "--checkpoint-every", "50"),
    *("--evaluate-episodes", "1", "--evaluate-masses", "1", "2"),
)

LANGEVIN = (
    *("InvertedPendulum-v5", "--delta", "0.1", "--steps", "400", "--seed", "3", *SMALL),
    *("--evaluate-every", "200", "--normalise-observations", "--inner-growth", "0.02"),
    *("--replay-size", "130"),  # fewer than steps: the ring goes round
    *("--keep-policies", "2"),
)
"""DDPG with MixedNE-LD; K_t grows to its limit."""

EXTRA_ADAM = (
    *("InvertedPendulum-v5", "--agent", "td3", "--solver", "extra-adam", "--seed", "4", *SMALL),
    *("--steps", "300", "--evaluate-every", "0", "--random-steps", "35", "--sigma", "0.2"),
)

VPG = (
    *("toy", "--agent", "vpg", "--steps", "160", "--seed", "5", "--horizon", "20"),
    *("--hidden", "4", "--inner-steps", "2", "--sigma0", "0.01", "--metrics-every", "8"),
    *("--evaluate-every", "40", "--evaluate-episodes", "1", "--checkpoint-every", "20"),
)


def config_of(arguments: tuple[str, ...]) -> Config:
    """The configuration that these arguments of ``mixedne train`` stand for."""
    command: Any = parse(["train", *arguments])
    found = getattr(command, "config", command)
    return Config(**{name: getattr(found, name) for name in Config.__dataclass_fields__})


def limited_command(size: int) -> list[str]:
    """The command line in a process whose files cannot grow beyond ``size`` bytes."""
    code = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "from mixedne.cli.main import main\n"
        "sys.exit(main())\n"
    )
    return [sys.executable, "-c", code]


@dataclass(frozen=True)
class Laboratory:
    """Starts processes that find the modules of the tests."""

    @property
    def environment(self) -> dict[str, str]:
        tests = str(Path(__file__).parents[1])
        paths = [tests, *filter(None, [os.environ.get("PYTHONPATH")])]
        return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def train(
        self, *arguments: str, command: list[str] = COMMAND
    ) -> subprocess.CompletedProcess[str]:
        """Run ``mixedne train`` to its end."""
        return subprocess.run(
            [*command, "train", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=self.environment,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start ``mixedne train``; its progress comes on stderr."""
        return subprocess.Popen(
            [*COMMAND, "train", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )


def wait_for_lines(process: subprocess.Popen[str], count: int) -> list[str]:
    """Wait until the process has said so many lines, or has ended."""
    assert process.stderr is not None
    return [line for line in (process.stderr.readline() for _ in range(count)) if line]


def kill(process: subprocess.Popen[str]) -> bool:
    """SIGKILL; whether it came before the end."""
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def killed_run(
    laboratory: Laboratory, arguments: tuple[str, ...], out: Path, kills: int, seed: int
) -> int:
    """Kill a run at random moments, resuming it every time, and at last let it end.

    Returns how many kills came before the end.
    """
    moments = random.Random(seed)
    landed = 0
    for _ in range(kills):
        process = laboratory.start(*arguments, "--out", str(out), "--resume")
        wait_for_lines(process, moments.randint(1, 4))
        time.sleep(moments.uniform(0, 0.05))
        landed += kill(process)
    done = laboratory.train(*arguments, "--out", str(out), "--resume")
    assert done.returncode == 0, done.stderr
    return landed


def results(out: Path) -> dict[str, Any]:
    """All that a finished run must have in common with one that was not interrupted."""
    lines = read_metrics(out)
    assert lines
    config = json.loads((out / "config.json").read_text())
    return {
        "files": sorted(str(path.relative_to(out)) for path in out.rglob("*")),
        "config": config,
        "metrics": [
            {name: value for name, value in line.items() if name not in TIMES} for line in lines
        ],
        **{
            str(path.relative_to(out)): path.read_bytes()
            for name in (*NAMES, "best")
            for path in out.rglob(f"{name}.*")
            if path.is_file()
        },
    }


def train_interrupted(config: Config, folder: Path) -> tuple[Path, Path]:
    """A run, and the same left in mid-episode at step 100 and resumed; their folders."""
    from mixedne.training.run import Status, train_config

    whole, left = folder / "whole", folder / "left"
    train_config(config, out=whole)

    def leave(status: Status) -> None:
        if status.step == 100:
            raise RuntimeError("killed")

    with contextlib.suppress(RuntimeError):
        train_config(config, out=left, watch=leave)
        raise AssertionError("it was not left")
    train_config(config, out=left, resume=True)
    return whole, left


def contents(out: Path) -> dict[str, Any]:
    """Every file's content and time of change."""
    return {
        str(path.relative_to(out)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in out.rglob("*")
        if path.is_file()
    }
