"""Full disks, evaluations that write at the same time, and environments that misbehave."""

import contextlib
import json
import multiprocessing
import resource
import time
from collections.abc import Iterator
from multiprocessing.pool import Pool
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np

from chaos import subjects
from chaos.suite import Answer, Family, command
from probes.faulty import MISBEHAVIOUR, ZEROS, SpoiltReward


@contextlib.contextmanager
def small_disk(size: int) -> Iterator[None]:
    """No file can grow beyond ``size`` bytes: writing more fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class FullDisk(Family):
    """``train``, ``evaluate`` and ``study`` on disks that are full at many sizes."""

    name, attempts = "full-disk", 150

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.file = folder / "mine.toml"
        subjects.make_finished(folder / "finished")
        subjects.make_study(self.file, folder / "study")

    def attempt(self, number: int, chance: Random, work: Path) -> str:
        kind = ("train", "evaluate", "study")[number % 3]
        size = round(10 ** chance.uniform(0, 4.6))
        self.doing = f"{kind} with files of at most {size} bytes"
        place = work / "out"
        if kind == "evaluate":
            subjects.fresh_copy(self.folder / "finished", place)
            (place / "evaluation.parquet").unlink()

        def again() -> Answer:
            if kind == "train":
                return subjects.train(place)
            if kind == "evaluate":
                return command("evaluate", place, *subjects.GRID)
            return subjects.study(self.file, place)

        with small_disk(size):
            first = again()
        stopped = first.is_refusal(1)
        strays = [str(path.relative_to(work)) for path in work.rglob(".*") if path.is_file()]
        assert not strays, f"left behind: {strays}"
        done = again() if stopped else first
        assert done.code == 0, f"{first.stderr}\nthen {done.stderr}"
        if kind == "study":
            same = subjects.study_outcome(place) == subjects.study_outcome(self.folder / "study")
        elif kind == "train":
            same = subjects.outcome(place) == subjects.outcome(self.folder / "finished")
        else:
            tables = (place, self.folder / "finished")
            one, other = (subjects.table_of(path / "evaluation.parquet") for path in tables)
            same = one.drop("run").equals(other.drop("run"))
        assert same, "another result"
        return "stopped and went on" if stopped else "had room enough"


def evaluate_at(moment: float, *arguments: str) -> Answer:
    """Evaluate from a moment on."""
    time.sleep(max(0.0, moment - time.time()))
    return command("evaluate", *arguments)


class Writers(Family):
    """Two evaluations with different grids into one run's table at the same time."""

    name, attempts = "writers", 100

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        subjects.make_finished(folder / "finished")
        self.pool: Pool = multiprocessing.get_context("spawn").Pool(2)
        self.pool.starmap(evaluate_at, [(0.0, "nowhere")] * 2, chunksize=1)  # imports

    def attempt(self, number: int, chance: Random, work: Path) -> str:
        run = subjects.fresh_copy(self.folder / "finished", work / "run")
        if chance.random() < 0.5:
            (run / "evaluation.parquet").unlink()
        grids = [f"0.{chance.randint(11, 49)},0.9", f"1.{chance.randint(1, 9)},1.95"]
        delay = chance.uniform(-0.05, 0.05)
        self.doing = f"masses {' and '.join(grids)}, {delay:.3f} s apart"
        moment = time.time() + 0.1
        options = ("--episodes", "1", "--threads", "1")
        jobs = [
            (moment + late, str(run), "--mass", grid, *options)
            for late, grid in zip((0.0, delay), grids, strict=True)
        ]
        before = {0.5, 1.0} if (run / "evaluation.parquet").exists() else set()
        for answer in self.pool.starmap(evaluate_at, jobs, chunksize=1):
            assert answer.code == 0, answer.stderr
        found = subjects.table_of(run / "evaluation.parquet")["mass"].to_list()
        wanted = before | {float(mass) for grid in grids for mass in grid.split(",")}
        assert sorted(found) == sorted(wanted), f"{found} instead of {wanted}"
        return "all rows"

    def close(self) -> None:
        self.pool.terminate()
        self.pool.join()


class Late(SpoiltReward):
    """Behaves, until a call of ``reset`` or ``step`` that raises or returns something else."""

    where, when, what = "step", 1, None

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.calls = 0

    def reset(self, **options: Any) -> Any:
        return self.answer("reset", super().reset(**options))

    def step(self, action: Any) -> Any:
        observation, _, *rest = super().step(action)
        return self.answer("step", (observation, 1.0, *rest))

    def answer(self, where: str, good: Any) -> Any:
        self.calls += where == self.where
        if where != self.where or self.calls < self.when:
            return good
        if isinstance(self.what, BaseException):
            raise self.what
        return self.what


BAD: dict[str, tuple[str, Any]] = {
    **{name: (where, what) for name, (where, what, _) in MISBEHAVIOUR.items()},
    **{
        f"Reward{name}": ("step", (ZEROS, value, False, False, {}))
        for name, value in {"NaN": np.nan, "Infinite": np.inf, "Huge": 1e300}.items()
    },
    "StepNothing": ("step", None),
    "StepObjects": ("step", (np.array([None] * 4), 1.0, False, False, {})),
    "StepSystemError": ("step", OSError("the simulator is gone")),
}

SMALL = (
    *("--hidden", "8", "--batch-size", "8", "--collect-steps", "10", "--updates", "4"),
    *("--update-after", "20", "--checkpoint-every", "50", "--evaluate-every", "0"),
)

AGENTS = (("ddpg", "mixedne-ld"), ("td3", "gad"), ("ddpg", "extra-adam"), ("sac", None))


class Environments(Family):
    """Environments that go wrong, soon or late, in training and in evaluation."""

    name, attempts = "environments", 200

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        subjects.make_finished(folder / "finished")

    def attempt(self, number: int, chance: Random, work: Path) -> str:
        name = list(BAD)[number % len(BAD)]
        where, what = BAD[name]
        trained = chance.random() < 0.7
        latest = {"reset": 12, "step": 100} if trained else {"reset": 1, "step": 10}
        when = chance.choice((1, chance.randint(1, latest[where])))
        task = f"Chaos{name}{when}-v0"
        kind: Any = type("Late", (Late,), {"where": where, "when": when, "what": what})
        gym.register(task, kind, max_episode_steps=10)
        try:
            if not trained:
                self.doing = f"evaluate {task}"
                grid = ("--noise", "0", "--episodes", "2", "--threads", "1", "--json")
                run = self.folder / "finished"
                out = ("--out", work / "table.parquet")
                answer = command("evaluate", run, "--task", task, *grid, *out)
            else:
                agent, solver = chance.choice(AGENTS)
                self.doing = f"train {task} with {agent}, {solver}"
                chosen = ("--agent", agent, *(("--solver", solver) if solver else ()))
                more = (*SMALL, "--steps", "150", "--out", work / "run")
                answer = command("train", task, *chosen, *more)
        finally:
            gym.registry.pop(task)
        if answer.is_refusal(1, 2):
            said = answer.stderr.rstrip().splitlines()[-1]
            assert task in said or "diverged" in said, f"it does not name the environment: {said}"
            return "named in one sentence"
        if not trained:
            [row] = json.loads(answer.stdout)
            is_marked = row["diverged"] > 0 and "mixedne: " in answer.stderr
            assert is_marked or name == "RewardHuge", f"not marked: {answer.stdout}"
            return "marked as diverged"
        raise AssertionError(f"trained in silence: {answer.stderr}")
