"""Processes that are killed: runs and studies must end as if nothing had happened."""

import importlib.util
import os
import signal
import subprocess
import time
from pathlib import Path
from random import Random

from chaos.suite import Family
from mixedne.studies.results import results as study_results
from probes.runs import Laboratory, kill, results, wait_for_lines
from probes.studies import policies, run_study, start_study, workers, write_study

SMALL = (
    *("--hidden", "8", "--batch-size", "8", "--collect-steps", "10", "--updates", "2"),
    *("--update-after", "100", "--metrics-every", "100", "--checkpoint-every", "110"),
    *("--evaluate-every", "0", "--steps", "1500", "--replay-size", "600"),
)

RUNS: dict[str, tuple[str, ...]] = {
    "ddpg, mixedne-ld": ("HalfCheetah-v5", "--delta", "0.1", *SMALL),
    "td3, gad": ("Hopper-v5", "--agent", "td3", "--solver", "gad", *SMALL),
    "ddpg, extra-adam": ("HalfCheetah-v5", "--solver", "extra-adam", *SMALL),
    "sac": ("Hopper-v5", "--agent", "sac", *SMALL),
    "vpg": (
        *("toy", "--agent", "vpg", "--steps", "400", "--horizon", "20", "--hidden", "4"),
        *("--inner-steps", "2", "--metrics-every", "8", "--checkpoint-every", "20"),
        *("--evaluate-every", "40", "--evaluate-episodes", "1"),
    ),
}
"""In tasks with long episodes, which are played again on resumption; VPG has the toy MDP."""


class Kills(Family):
    """``mixedne train``, killed three times with SIGKILL at random moments and resumed."""

    name, attempts = "kills", 40

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.laboratory = Laboratory()
        self.wholes: dict[str, Path] = {}

    def whole(self, agent: str) -> Path:
        """The run, never killed."""
        if agent not in self.wholes:
            self.wholes[agent] = self.folder / str(len(self.wholes))
            arguments = (*RUNS[agent], "--out", str(self.wholes[agent]))
            done = self.laboratory.train(*arguments)
            assert done.returncode == 0, done.stderr
        return self.wholes[agent]

    def attempt(self, number: int, chance: Random, work: Path) -> str:
        agent = list(RUNS)[number % len(RUNS)]
        self.doing = f"{agent}: "
        arguments = (*RUNS[agent], "--out", str(work / "run"), "--resume")
        for _ in range(3):
            lines, delay = chance.randint(0, 8), chance.uniform(0, 0.1)
            delay = delay if lines else chance.uniform(0, 3)
            self.doing += f"killed {delay:.3f} s after line {lines}; "
            process = self.laboratory.start(*arguments)
            wait_for_lines(process, lines)
            time.sleep(delay)
            self.counts["kills before the end"] += kill(process)
        done = self.laboratory.train(*arguments)
        assert done.returncode == 0, done.stderr
        found, whole = results(work / "run"), results(self.whole(agent))
        different = [name for name in whole if found.get(name) != whole[name]]
        assert not different, f"different: {different}"
        return "equal in every bit"


class StudyKills(Family):
    """A study whose parent, or a worker, is killed twice; every third time under Ray."""

    name, attempts = "study-kills", 20

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.laboratory = Laboratory()
        self.study = write_study(folder / "mine.toml", steps=1000)
        started = time.monotonic()
        done = run_study(self.laboratory, self.study, folder / "whole")
        self.seconds = time.monotonic() - started
        assert done.returncode == 0, done.stderr
        self.has_ray = importlib.util.find_spec("ray") is not None

    def attempt(self, number: int, chance: Random, work: Path) -> str:
        with_ray = self.has_ray and number % 3 == 2
        options = ("--executor", "ray") if with_ray else ()
        out = work / "out"
        self.doing = "with Ray: " if with_ray else ""
        for _ in range(2):
            delay = chance.uniform(0, self.seconds * (2 if with_ray else 1))
            victim = chance.choice(("parent", "worker")) if not with_ray else "parent"
            self.doing += f"{victim} killed after {delay:.2f} s; "
            process = start_study(self.laboratory, self.study, out, *options)
            time.sleep(delay)
            if victim == "worker":
                self._kill_worker(process, chance)
            self.counts["kills before the end"] += kill(process)
        done = run_study(self.laboratory, self.study, out, *options)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        assert policies(out) == policies(self.folder / "whole"), "other policies"
        order = ["run", "mass", "episode"]
        tables = [
            study_results(path).drop("versions").sort(order)
            for path in (out, self.folder / "whole")
        ]
        assert tables[0].equals(tables[1]), f"another table: {tables}"
        return "the same table with Ray" if with_ray else "the same table"

    def _kill_worker(self, process: "subprocess.Popen[str]", chance: Random) -> None:
        """Kill one of the study's workers, if there is one, and let the study go on for a while."""
        if process.poll() is None and (found := workers(process)):
            os.kill(chance.choice(found), signal.SIGKILL)
            self.counts["workers killed"] += 1
            time.sleep(chance.uniform(0, 3))
