"""Sweeps and grids: policies in worlds that differ from the nominal one, as one table.

Every grid point and every policy sees the same initial states and the same noise: an
episode's seed is made from the evaluation's seed and the episode's number alone, and all
that is random in the episode comes from it. Worlds run in chunks, so memory stays bounded;
results do not depend on the chunks, the number of threads or the order of the grid.
"""

import dataclasses
import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mixedne.errors import check_number
from mixedne.evaluation.actors import Actors
from mixedne.evaluation.checks import (
    check_fit,
    find_task,
    warn_of_divergence,
    warn_of_no_effect,
)
from mixedne.evaluation.grids import Grid, NamedFactors, Values, make_grid
from mixedne.evaluation.sources import Source, find_sources
from mixedne.evaluation.store import ChunkStore
from mixedne.evaluation.table import SCHEMA, episode_seed
from mixedne.policies import Policy
from mixedne.tasks import Shift, Task, Worlds, make_worlds
from mixedne.versions import versions

MAX_EPISODES = 2_000_000
"""One table holds no more: larger evaluations are split."""

REPORT_EVERY = 20
"""Steps between two reports of progress; episodes under way count by their share of steps."""

Watch: TypeAlias = Callable[[Worlds, NDArray[np.float64], NDArray[np.bool_]], None]
"""A function of the worlds, what every world has returned so far, and which of the active ones
have come to their end."""


class Case(NamedTuple):
    """One episode to run."""

    source: int
    """Which policy."""
    shift: Shift
    episode: int


def evaluate(
    policies: Any,
    task: str | None = None,
    *,
    mass: Values = 1.0,
    friction: Values = 1.0,
    noise: Values = 0.0,
    rho: Values | None = None,
    mass_mode: str = "reference",
    body_masses: NamedFactors = (),
    geom_frictions: NamedFactors = (),
    episodes: int = 10,
    seed: int = 0,
    stochastic: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    join: bool = False,
    threads: int | None = None,
    worlds_at_once: int = 256,
    trust_pickle: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> pl.DataFrame:
    """Run policies in worlds that differ from the nominal one; one row per episode.

    Args:
      policies: one, a list, or a dictionary by name, of: a path to a run folder, a policy
        file or a Stable-Baselines3 ``.zip``; a :class:`~mixedne.policies.Policy`; any callable
        ``observations (n, d) -> actions (n, k)`` in the task's own units.
      task: name of the task; not needed for policies that know theirs.
      mass: factors on all bodies' masses: one, several, or a grid as on the command line
        (``"0.5:2:16"``, ``"paper"``). So also:
      friction: factors on all geoms' friction.
      noise: probabilities with which a uniform action replaces the policy's.
      rho: values of ρ, for the toy MDP.
      mass_mode: ``reference`` (masses alone) or ``consistent`` (inertias too).
      body_masses: further factors on named bodies' masses, the same at every grid point.
      geom_frictions: further factors on named geoms' friction.
      episodes: at every grid point.
      seed: of the evaluation. Grid points and policies share their episodes' seeds.
      stochastic: let stochastic policies of this package sample; their mean acts otherwise.
      out: a Parquet file to write. An evaluation that is interrupted goes on from its
        finished chunks when it is called again with the same arguments.
      overwrite: replace ``out`` if it exists.
      join: add the rows to ``out`` if it exists. Episodes run again replace their old rows, and
        old rows of a run whose policy has changed are dropped.
      threads: for the physics; all cores by default.
      worlds_at_once: how many worlds advance together.
      trust_pickle: load files that can run code (Stable-Baselines3).
      progress: called now and then with the number of episodes done, those under way by
        their share of steps, and of all.
    """
    sources = find_sources(policies, trust_pickle=trust_pickle)
    grid = make_grid(
        mass=mass,
        friction=friction,
        noise=noise,
        rho=rho,
        mass_mode=mass_mode,
        body_masses=body_masses,
        geom_frictions=geom_frictions,
        episodes=episodes,
        seed=seed,
        stochastic=stochastic,
    )
    check_number("worlds_at_once", worlds_at_once, at_least=1)
    found = find_task(sources, task)
    check_fit(sources, found, grid)
    total = len(sources) * len(grid.shifts()) * grid.episodes
    check_number("the number of episodes in all", total, at_most=MAX_EPISODES)
    warn_of_no_effect(found, grid)
    fingerprint = _fingerprint(sources, found, grid, worlds_at_once)
    store = ChunkStore.open(out, fingerprint, overwrite=overwrite, join=join)
    done = 0
    for number, chunk in enumerate(_chunks(sources, grid, worlds_at_once)):
        if store.get(number) is None:
            report = functools.partial(_add_and_tell, progress, done, total)
            table = run_chunk(sources, found, grid, chunk, threads=threads, report=report)
            store.put(number, table)
        done += len(chunk)
        progress(done, total)
    table = store.finish()
    warn_of_divergence(table)
    return table


def _chunks(sources: Sequence[Source], grid: Grid, size: int) -> Iterator[list[Case]]:
    """The episodes, so many at a time.

    This package's policies share chunks. Others run by themselves: actions of another
    precision in the same array would change how costs are rounded.
    """
    ours = [i for i, source in enumerate(sources) if isinstance(source.act, Policy)]
    others = [[i] for i in range(len(sources)) if i not in ours]
    for group in [ours, *others]:
        cases = (
            Case(source, shift, episode)
            for source in group
            for shift in grid.shifts()
            for episode in range(grid.episodes)
        )
        while chunk := list(itertools.islice(cases, size)):
            yield chunk


def run_chunk(
    sources: Sequence[Source],
    task: Task,
    grid: Grid,
    cases: Sequence[Case],
    *,
    threads: int | None = None,
    terminate: bool = True,
    report: Callable[[int], None] = lambda finished: None,
    watch: Watch | None = None,
) -> pl.DataFrame:
    """Run these episodes side by side; one row each, in their order.

    ``watch`` sees the worlds at the start and after every step, before those that end with the
    step leave; they can then be drawn.
    """
    seeds = [episode_seed(grid.seed, case.episode) for case in cases]
    worlds = make_worlds(
        task,
        [(case.shift, seed) for case, seed in zip(cases, seeds, strict=True)],
        threads=threads,
        terminate=terminate,
        drawn=watch is not None,
    )
    actors = Actors(sources, [case.source for case in cases], seeds, task, grid.stochastic)
    returns = np.zeros(len(cases))
    lengths = np.zeros(len(cases), np.int64)
    terminated = np.zeros(len(cases), bool)
    diverged = np.zeros(len(cases), bool)
    try:
        observations = worlds.reset()
        if watch is not None:
            watch(worlds, returns, terminated)
        while len(worlds.active):
            active = worlds.active
            step = worlds.step(actors.act(active, observations))
            returns[active] += step.rewards
            lengths[active] += 1
            over = step.terminated | step.truncated
            if watch is not None:
                watch(worlds, returns, over)
            observations = step.observations
            if over.any():
                terminated[active] = step.terminated
                diverged[active] = worlds.diverged
                worlds.keep(~over)
                observations = observations[~over]
            if worlds.elapsed % REPORT_EVERY == 0:
                under_way = len(worlds.active) * worlds.elapsed / (task.max_episode_steps or np.inf)
                report(len(cases) - len(worlds.active) + int(under_way))
    finally:
        worlds.close()
    made_by = json.dumps(versions("gymnasium", "mujoco", "numpy"))
    rows = [
        {
            "run": sources[case.source].name,
            "policy": sources[case.source].label,
            "task": task.id,
            "task_version": task.version,
            **sources[case.source].provenance,
            "mass_mode": case.shift.mass_mode,
            "mass": case.shift.mass,
            "friction": case.shift.friction,
            "noise": case.shift.noise,
            "rho": task.nominal_rho if case.shift.rho is None else case.shift.rho,
            "body_masses": _named(case.shift.body_masses),
            "geom_frictions": _named(case.shift.geom_frictions),
            "acting": sources[case.source].acting(stochastic=grid.stochastic),
            "episode": case.episode,
            "episode_seed": seeds[i],
            "return": float(returns[i]),
            "length": int(lengths[i]),
            "terminated": bool(terminated[i]),
            "diverged": bool(diverged[i]),
            "versions": made_by,
        }
        for i, case in enumerate(cases)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def _fingerprint(
    sources: Sequence[Source], task: Task, grid: Grid, worlds_at_once: int
) -> str | None:
    """What was asked for, as a hash; None if a policy cannot be recognised again."""
    prints = [source.fingerprint for source in sources]
    if None in prints:
        return None
    made_by = versions("gymnasium", "mujoco", "numpy")
    names = [source.name for source in sources]
    request = [prints, names, task.id, dataclasses.asdict(grid), worlds_at_once, made_by]
    return hashlib.sha256(json.dumps(request).encode()).hexdigest()


def _add_and_tell(
    progress: Callable[[int, int], None], before: int, total: int, finished: int
) -> None:
    progress(before + finished, total)


def _named(factors: tuple[tuple[str, float], ...]) -> str | None:
    return ",".join(f"{name}={factor!r}" for name, factor in sorted(factors)) or None
