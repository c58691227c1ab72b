"""``mixedne.evaluate``: policies in worlds that differ from the nominal one, as one table.

All grid points and all policies share the same initial states and the same noise: an
episode's seed depends only on the evaluation's seed and the episode's number, and all
randomness in the episode comes from it. Worlds run in chunks, so memory stays bounded;
results do not depend on the chunks, the number of threads or the order of the grid.
"""

import contextlib
import functools
import hashlib
import itertools
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_number
from mixedne.evaluation.attacks import add_attack, attacker_of, worlds_of
from mixedne.evaluation.grids import (
    Grid,
    NamedFactors,
    Shifts,
    Values,
    episode_seed,
    whole_number,
)
from mixedne.evaluation.handles import PolicyBatch, PolicyHandle, find_policies, one_blas_thread
from mixedne.evaluation.sets import add_set
from mixedne.evaluation.table import ChunkStore, table_schema, world_columns
from mixedne.policies import Policy
from mixedne.progress import OnProgress, showing
from mixedne.shifts import Axis
from mixedne.shifts.registry import ATTACK
from mixedne.tasks import Shift, Task, Worlds, check_axes, resolve_task, shift_effects
from mixedne.tasks.registry import EnvironmentFactory, full_task_name, task_id
from mixedne.versions import versions

MAX_EPISODES = 2_000_000
"""Maximum number of episodes in one evaluation; larger ones must be split."""

SMALL_EFFECT = 0.005
"""Relative change of accelerations below which a shift is said to have almost no effect."""

Watch: TypeAlias = Callable[[Worlds, NDArray[np.float64], NDArray[np.bool_]], None]
"""A function of the worlds, the return of every world so far, and a mask of the active worlds
whose episodes have ended."""


class NoEffectWarning(UserWarning):
    """A requested shift has no effect, or almost none, in this task."""


class OtherTaskWarning(UserWarning):
    """A policy is evaluated in a different task than it was trained for."""


class DivergenceWarning(UserWarning):
    """The physics of some episodes diverged, or their returns are not finite."""


class Case(NamedTuple):
    """One episode to run."""

    policy: int
    """The index of its policy among the handles."""
    shift: Shift
    episode: int


def evaluate(
    policies: Any,
    task: str | EnvironmentFactory | None = None,
    *,
    at: str | int = "last",
    mass: Values | None = None,
    friction: Values | None = None,
    noise: Values | None = None,
    rho: Values | None = None,
    shifts: Shifts = (),
    set: str | Path | None = None,
    points: int | None = None,
    ends: str | None = None,
    attack: Any = None,
    strength: Values | None = None,
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
    progress: bool | OnProgress = False,
) -> pl.DataFrame:
    """Evaluate policies in worlds that differ from the nominal one; one row per episode.

    Args:
      policies: a policy, a list of policies, or a dictionary of policies by name. A policy is a
        run returned by :func:`mixedne.train`; a path to a run folder, a policy file, an ``.onnx``
        file or a Stable-Baselines3 ``.zip``; ``"zoo:NAME"``; a :class:`~mixedne.policies.Policy`;
        a Stable-Baselines3 model, or anything else with its ``predict``; or any callable
        ``observations (n, d) -> actions (n, k)`` in the task's own units.
      task: name of the task, or a function without arguments that makes its environment; not
        needed for policies that store their task.
      at: which policy of a run folder: ``"last"``, ``"best"`` by the run's own evaluations, or
        that of a step, if the run keeps it (``keep_policies``). The run may still be training.
      mass: factors on the masses of all bodies: a number, several numbers, or a grid as on the
        command line (``"0.5:2:16"``, ``"paper"``). ``friction``, ``noise`` and ``rho`` take the
        same forms.
      friction: factors on the friction of all geoms.
      noise: probabilities that the policy's action is replaced by a uniformly random one.
      rho: values of ρ, for the toy MDP.
      shifts: values of any parameter, by axis: ``{"gravity": [0.5, 1], "mass[torso]": "0.5:2:4",
        "mass[torso]:abs": [3.5]}``; or custom axes, by name: a
        :class:`~mixedne.evaluation.grids.ModelShift` or
        :class:`~mixedne.evaluation.grids.KeywordShift`. The grid is the product of all axes.
      set: an uncertainty set, by name (``"rrls-3d"``; ``mixedne sets`` lists them) or as a
        ``.toml`` file; its axes are crossed with the others.
      points: grid points per axis of the set; by default the set's own number.
      ends: which ends of the set's intervals are grid points, ``"lower"`` or ``"both"``; by
        default the set's own choice.
      attack: folder or file of an attacker trained by :func:`mixedne.attack`.
      strength: one or several strengths of the attack, 0 for none; by default the one used in the
        attacker's training.
      mass_mode: ``reference`` (shift only masses) or ``consistent`` (also inertias).
      body_masses: factors on the masses of single bodies, by name; ``shifts`` can do the same.
      geom_frictions: factors on the friction of single geoms, by name.
      episodes: number of episodes per grid point.
      seed: seed of the evaluation. Grid points and policies share their episodes' seeds.
      stochastic: sample the actions of this package's stochastic policies instead of taking their
        mean.
      out: Parquet file to write. An interrupted evaluation resumes from its finished chunks when
        it is called again with the same arguments.
      overwrite: replace ``out`` if it exists.
      join: add the rows to ``out`` if it exists. Episodes run again replace their old rows, and
        old rows of a run whose policy has changed are dropped. A callable is known by its name
        alone: to join rows of several, give them names, ``{"mine": callable}``.
      threads: number of threads for the physics; all cores by default.
      worlds_at_once: number of worlds simulated in parallel.
      trust_pickle: load files that can run code (Stable-Baselines3).
      progress: True shows a progress bar on a terminal and prints lines elsewhere; or a function
        that is called regularly with the number of episodes done, including fractions of running
        ones, and the total.

    Returns:
      A table with one row per episode: the policy, the world, ``return``, ``length`` and so on.
      :mod:`mixedne.statistics` summarises it.

    Examples:
      >>> import mixedne
      >>> stay = lambda observations: 0 * observations[:, :1]
      >>> table = mixedne.evaluate(stay, "InvertedPendulum-v5", mass=[0.5, 2], episodes=3)
      >>> table.height
      6
    """
    grid = Grid(
        shifts,
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
    worlds_at_once = whole_number("worlds_at_once", worlds_at_once)
    check_number("worlds_at_once", worlds_at_once, at_least=1)
    handles = find_policies(policies, at=at, trust_pickle=trust_pickle)
    task = None if task is None else task_id(task)
    if set is not None:
        task = task_name(handles, task)
        grid = add_set(grid, set, task, points, ends)
    elif points is not None or ends is not None:
        raise InvalidInputError("points and ends are those of an uncertainty set: name a set")
    if attack is not None:
        grid = add_attack(grid, attack, strength)
    elif strength is not None:
        raise InvalidInputError("strength is that of an attack: name an attacker")
    total = len(handles) * grid.size * grid.episodes
    check_number("the number of episodes in all", total, at_most=MAX_EPISODES)
    found = find_task(handles, task, grid)
    fingerprint = _fingerprint(handles, found, grid, worlds_at_once)
    store = ChunkStore(out, fingerprint, overwrite=overwrite, join=join)
    done = 0
    with showing(progress, "Evaluation", "episodes") as show:
        for number, chunk in enumerate(_chunks(handles, grid, worlds_at_once)):
            if not store.has(number):
                report = functools.partial(lambda before, now: show(before + now, total), done)
                rows = run_chunk(handles, found, grid, chunk, threads=threads, report=report)
                store.put(number, rows)
            done += len(chunk)
            show(done, total)
    table = store.finish()
    warn_of_divergence(table)
    return table


def task_name(handles: Sequence[PolicyHandle], name: str | None) -> str:
    """The name of a task as given, or by default of the one that all policies were trained for."""
    if name is not None:
        return name
    known = {handle.task for handle in handles}
    if None in known:
        unknown = next(handle.name for handle in handles if handle.task is None)
        raise InvalidInputError(f"the policy {unknown} does not say its task: pass task=")
    if len(known) > 1:
        tasks = ", ".join(sorted(map(str, known)))
        raise InvalidInputError(f"the policies have several tasks, {tasks}: pass task=")
    name = str(known.pop())
    if ":" in name:  # resolving it would import the module
        raise InvalidInputError(f"the policy's task {name} names a module: pass task= to allow it")
    return name


def find_task(handles: Sequence[PolicyHandle], name: str | None, grid: Grid) -> Task:
    """The named task, or by default the one that all policies were trained for.

    Raises if policies or shifts do not fit the task, and warns of what may be misleading.
    """
    task = resolve_task(task_name(handles, name))
    if task.max_episode_steps is None:
        raise InvalidInputError(f"{task.id} has no time limit: an episode might never end")
    needed = (task.observation_size, task.action_size)
    for handle in handles:
        if handle.sizes is not None and handle.sizes != needed:
            raise InvalidInputError(
                f"the policy {handle.name} takes {handle.sizes[0]} observations and gives "
                f"{handle.sizes[1]} actions, but {task.id} has {needed[0]} and {needed[1]}"
            )
    check_axes(task, [axis for axis, _ in grid.axes])
    for handle in handles:
        if handle.task is not None and full_task_name(handle.task) != task.id:
            words = f"was trained for {handle.task} and is evaluated in {task.id}"
            warnings.warn(f"the policy {handle.name} {words}", OtherTaskWarning, stacklevel=3)
        if handle.opponent is None and any(str(axis) == "opponent" for axis, _ in grid.axes):
            raise InvalidInputError(
                f"the policy {handle.name} comes without an adversary that could be its opponent: "
                "evaluate a run folder"
            )
    _warn_of_no_effect(task, grid)
    return task


def _warn_of_no_effect(task: Task, grid: Grid) -> None:
    """Warn of shifts without effect, so that a flat curve is not mistaken for robustness."""
    points = dict.fromkeys(shift.only("model") for shift in grid.shifts())
    effects: dict[Axis, float] = {}
    for axis, _ in grid.axes if task.has_model else ():
        # Effects depend on other axes too: of two geoms in contact, the larger friction counts.
        shifted = [shift for shift in points if axis in shift.axes]
        for shift in shifted[:: 1 + len(shifted) // 50]:  # fifty points are enough
            effects[axis] = max(effects.get(axis, 0.0), shift_effects(task, shift)[axis])
            if effects[axis] >= SMALL_EFFECT:
                break
    for axis, effect in effects.items():
        if effect < SMALL_EFFECT:
            words = (
                f"{axis} changes nothing in {task.id}: its worlds are all alike"
                if effect == 0
                else f"{axis} changes next to nothing in {task.id}: it changes accelerations by "
                f"{100 * effect:.1g} % at most"
            )
            warnings.warn(words, NoEffectWarning, stacklevel=4)


def warn_of_divergence(table: pl.DataFrame) -> None:
    """Warn if physics diverged or returns are not finite: such episodes mean little."""
    no_number = int((~table["return"].is_finite()).sum())
    restarted = int(table["diverged"].sum()) - no_number
    for count, what in (
        (restarted, "the physics diverged and was restarted"),
        (no_number, f"of {table['task'][0]} the return is NaN or infinite"),
    ):
        if count:
            words = f"in {count} of {table.height} episodes {what}: see the column diverged"
            warnings.warn(words, DivergenceWarning, stacklevel=3)


def _chunks(handles: Sequence[PolicyHandle], grid: Grid, size: int) -> Iterator[list[Case]]:
    """The episodes in chunks of ``size``; those with an attack are in separate chunks.

    This package's policies share chunks. Each external policy has its own: actions of another
    precision in the same array would change how costs are rounded.
    """
    ours = [i for i, handle in enumerate(handles) if isinstance(handle.act, Policy)]
    others = [[i] for i in range(len(handles)) if i not in ours]
    shifts: dict[bool, list[Shift]] = {False: [], True: []}
    for shift in grid.shifts():
        shifts[attacker_of(shift)[0] is not None].append(shift)
    for group, worlds in itertools.product([ours, *others], shifts.values()):
        cases = itertools.starmap(Case, itertools.product(group, worlds, range(grid.episodes)))
        while chunk := list(itertools.islice(cases, size)):
            yield chunk


def run_chunk(
    handles: Sequence[PolicyHandle],
    task: Task,
    grid: Grid,
    cases: Sequence[Case],
    *,
    threads: int | None = None,
    terminate: bool = True,
    report: Callable[[int], None] = lambda finished: None,
    watch: Watch | None = None,
) -> pl.DataFrame:
    """Run these episodes in parallel; returns one row per episode, in order.

    ``watch`` is called with the worlds at the start and after every step, before those whose
    episodes have ended are removed, so that these can still be drawn.
    """
    seeds = [episode_seed(grid.seed, case.episode) for case in cases]
    worlds = worlds_of(
        task,
        [(case.shift, seed) for case, seed in zip(cases, seeds, strict=True)],
        [handles[case.policy] for case in cases],
        threads=threads,
        terminate=terminate,
        drawn=watch is not None,
        opponents=[handles[case.policy].opponent for case in cases],
    )
    see = watch or (lambda worlds, returns, over: None)
    owners = [case.policy for case in cases]
    policies = PolicyBatch(handles, owners, seeds, task.id, task.action_size, grid.stochastic)
    returns = np.zeros(len(cases))
    lengths = np.zeros(len(cases), np.int64)
    terminated, diverged = np.zeros((2, len(cases)), bool)
    with contextlib.closing(worlds), one_blas_thread(handles):
        observations = worlds.reset()
        see(worlds, returns, terminated)
        while len(worlds.active):
            active = worlds.active
            step = worlds.step(policies.act(active, observations))
            returns[active] += step.rewards
            lengths[active] += 1
            over = step.terminated | step.truncated
            see(worlds, returns, over)
            observations = step.observations
            if over.any():
                terminated[active] = step.terminated
                diverged[active] = worlds.diverged
                worlds.drop(over)
                observations = observations[~over]
            if worlds.elapsed % 20 == 0:  # running episodes count by their fraction of steps
                under_way = len(worlds.active) * worlds.elapsed / (task.max_episode_steps or np.inf)
                report(len(cases) - len(worlds.active) + int(under_way))
    results = {
        "episode_seed": seeds,
        "return": returns,
        "length": lengths,
        "terminated": terminated,
        "diverged": diverged | ~np.isfinite(returns),
    }
    return _table(handles, task, grid, cases, results)


def _table(
    handles: Sequence[PolicyHandle],
    task: Task,
    grid: Grid,
    cases: Sequence[Case],
    results: Mapping[str, Any],
) -> pl.DataFrame:
    """The evaluation table of these episodes."""
    axes, known = grid.columns, task.axes
    about = [
        {
            "run": handle.name,
            "policy": handle.label,
            "task": task.id,
            "task_version": task.version,
            **handle.provenance,
            "acting": handle.acting(stochastic=grid.stochastic),
            "versions": json.dumps(versions("gymnasium", "mujoco", "numpy")),
        }
        for handle in handles
    ]
    rows = [
        {**about[i], **world_columns(shift, axes, known), "episode": episode}
        for i, shift, episode in cases
    ]
    schema = table_schema(map(str, axes))
    described = {name: kind for name, kind in schema.items() if name not in results}
    columns = [pl.Series(name, values, schema[name]) for name, values in results.items()]
    return pl.DataFrame(rows, schema=described).with_columns(columns).select(list(schema))


def _fingerprint(
    handles: Sequence[PolicyHandle], task: Task, grid: Grid, worlds_at_once: int
) -> str | None:
    """A hash of the evaluation's arguments; None if a policy or a shift cannot be hashed."""
    prints = [handle.fingerprint for handle in handles]
    if (
        None in prints
        or task.factory is not None
        or any(axis.custom is not None and axis.parameter != ATTACK for axis, _ in grid.axes)
    ):
        return None
    made_by = versions("gymnasium", "mujoco", "numpy")
    names = [handle.name for handle in handles]
    request = [prints, names, task.id, grid.to_json(), worlds_at_once, made_by]
    return hashlib.sha256(json.dumps(request).encode()).hexdigest()
