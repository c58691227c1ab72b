"""``mixedne.attack``: train new attackers against a frozen policy, to bound its worst case.

The policy and its task become an environment in which the attacker is the only agent, with reward
−r (``games.attacks``). It is trained as any other agent: one-player TD3, with a run folder for each
seed and learning rate. The strongest attacker is selected on one set of episodes and evaluated on
another, next to a random attacker and no attack. The result is an upper bound on the worst case.

Parameters that are fixed for whole episodes need no learning: ``worst_world`` searches for them.
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.config import configure
from mixedne.config.configure import task_name as bare_name
from mixedne.config.presets import game_values
from mixedne.errors import InvalidInputError, check_count, check_number
from mixedne.evaluation.attacks import Attacker
from mixedne.evaluation.grids import Grid
from mixedne.evaluation.handles import find_policy
from mixedne.evaluation.sets import warn_of_sets
from mixedne.evaluation.sweep import find_task, task_name
from mixedne.evaluation.table import concat_tables, write_table
from mixedne.files import read_json, write_json
from mixedne.games.attacks import Attack, AttackRules
from mixedne.policies import Policy, save_policy
from mixedne.progress import OnProgress, showing
from mixedne.shifts.sets import without_files
from mixedne.tasks import Task
from mixedne.tasks.registry import EnvironmentFactory, task_id
from mixedne.training.attackers import (
    attackers_world,
    learning_curve,
    settings,
    still_improved,
    trained_attacker,
)
from mixedne.training.attempt import Attempt, returns_of
from mixedne.training.run import Status, train_config
from mixedne.training.worst_world import worst_world
from mixedne.versions import versions

FORMAT_VERSION = 1
"""The format_version of ``attack.json`` and of :data:`REQUEST`."""

REQUEST = "request.json"
"""What the attack in a folder is, so that nothing else is resumed there."""

DEFAULT_STRENGTHS = {"action": 0.1, "observation": 0.1}
"""Default strengths; for forces it is the task's, and parameters are fixed for an episode."""

LEARNING_RATES = (1e-3, 3e-4)


@dataclass(frozen=True)
class AttackResult:
    """The result of an attack."""

    path: Path
    """The folder, with ``attack.json``, ``evaluation.parquet`` and the files ``attacker.*``."""
    summary: Mapping[str, Any]
    """The content of ``attack.json``."""
    table: pl.DataFrame
    """The episodes: without attack, under the random attacker, and under the strongest."""

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        return str(self.summary["sentence"])


def attack(
    policy: Any,
    task: str | EnvironmentFactory | None = None,
    *,
    on: str,
    strength: float | None = None,
    bodies: str | None = None,
    axes: str | None = None,
    parameters: str | Sequence[str] | None = None,
    points: int | None = None,
    worlds: int | None = None,
    steps: int = 20_000,
    seeds: int = 2,
    learning_rates: float | Sequence[float] = LEARNING_RATES,
    episodes: int = 20,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    trust_pickle: bool = False,
    progress: bool | OnProgress = False,
) -> AttackResult:
    """Train attackers against a policy, and measure its return under the strongest.

    Args:
      policy: a policy in any form that :func:`mixedne.evaluate` accepts.
      task: name of the task, or a function that makes its environment; not needed for policies
        that store their task.
      on: what is attacked: ``action``, ``force``, ``parameters`` or ``observation``.
      strength: strength of the attack. For ``action``, the attacker's share δ (default: 0.1); for
        ``force``, the largest force in N (default: the task's); for ``parameters``, their largest
        change per step, as a fraction of their range (default: fixed for whole episodes); for
        ``observation``, the largest change after the policy's own normalisation (default: 0.1).
      bodies: names of the bodies that are pushed, e.g. ``"torso,foot"``.
      axes: axes along which they are pushed, e.g. ``"xz"``.
      parameters: parameters that are changed, with their bounds, e.g. ``["mass[torso]=0.5:2"]``.
      points: grid points per axis, for parameters that are fixed for whole episodes.
      worlds: number of worlds that CMA-ES tries instead of a grid; by default 200 for more than
        three parameters.
      steps: number of environment steps to train each attacker for.
      seeds: number of attackers per learning rate.
      learning_rates: learning rates of the attackers.
      episodes: number of episodes to report; the strongest attacker is selected on as many others.
      seed: seed of the reported episodes. Selection and training have their own seeds.
      out: folder to write to; ``attacks/NAME-ON`` by default.
      resume: continue the attack in that folder.
      trust_pickle: load files that can run code (Stable-Baselines3).
      progress: True shows progress; or a function that is called with the number of steps done
        and the total.

    Returns:
      The result: ``sentence``, ``summary``, a ``table`` of episodes, and the folder's ``path``.

    Examples:
      >>> import mixedne
      >>> run = mixedne.train("InvertedPendulum-v5", steps=200, hidden=(8,), out="own")
      >>> bounds = ["mass[pole]=0.5:2"]
      >>> found = mixedne.attack(run, on="parameters", parameters=bounds, points=3, episodes=2)
      >>> found.table.height  # three worlds, and the nominal one
      8
    """
    handle = find_policy(policy, trust_pickle=trust_pickle)
    if resume and handle.fingerprint is None:
        raise InvalidInputError("only an attack on a policy in files can be resumed")
    name = task_name([handle], None if task is None else task_id(task))
    found = find_task([handle], name, Grid(episodes=episodes, seed=seed))
    for name, count in (("steps", steps), ("seeds", seeds)):
        check_count(name, count, at_least=1)
    check_number("seed", seed, at_least=0, at_most=2**32 - 1 - 2 - seeds)
    rates = (learning_rates,) if isinstance(learning_rates, int | float) else (*learning_rates,)
    if not rates or len({*rates}) < len(rates):
        raise InvalidInputError(f"learning_rates must be different numbers, not {learning_rates}")
    check_number("learning_rates", [*rates], above=0)
    bounds = None
    if parameters is not None:
        words = [parameters] if isinstance(parameters, str) else parameters
        bounds = without_files(words, found.id)
        warn_of_sets(words, found.id)
    goal = _goal(found, on, strength, bodies, axes, bounds)
    for name, given in (("points", points), ("worlds", worlds)):
        if goal is not None and given is not None:
            raise InvalidInputError(f"{name} are those of parameters that hold for whole episodes")
    folder = Path(f"attacks/{handle.name}-{on}" if out is None else out)
    whom = {"policy": handle.name, "fingerprint": handle.label, "task": found.id}
    fixed = {"on": on, "parameters": bounds and [*bounds], "points": points, "worlds": worlds}
    what = fixed if goal is None else goal.to_json()
    request = {**whom, **what, "episodes": episodes, "seed": seed}
    _check_folder(folder, request, resume)
    attempt = Attempt(handle, found, episodes, seed)
    if goal is None:
        about: dict[str, Any] = {"on": on, "strength": None}
        with showing(progress, f"Attack on {on}", "worlds") as show:
            told, table = worst_world(attempt, bounds or (), points, worlds, show)
        _write_request(folder, request)
    else:
        about = goal.to_json() | {"steps": steps}
        ways = [*itertools.product(rates, range(seeds))]
        _write_request(folder, request)
        with showing(progress, f"Attack on {on}", "steps") as show:
            told, table = _strongest(attempt, goal, ways, steps, folder, resume, show)
    summary = {**whom, **about, "episodes": episodes, "seed": seed, **told}
    summary = {"format_version": FORMAT_VERSION, "sentence": _sentence(summary), **summary}
    write_table(table, folder / "evaluation.parquet")
    packages = versions("jax", "jaxlib", "optax", "numpy", "gymnasium", "mujoco")
    write_json(folder / "attack.json", {**summary, "versions": packages})
    return AttackResult(folder, summary, table)


def _goal(
    task: Task,
    on: str,
    strength: float | None,
    bodies: str | None,
    axes: str | None,
    parameters: tuple[str, ...] | None,
) -> Attack | None:
    """The attack to learn; None for parameters that are fixed for whole episodes."""
    if on == "force":
        usual = game_values("rarl", bare_name(task.id))
        bodies = usual.get("bodies") if bodies is None else bodies
        strength = usual.get("force") if strength is None else strength
        if bodies is None or strength is None:
            raise InvalidInputError(f"attacks on force need bodies and strength in {task.id}")
    given = DEFAULT_STRENGTHS.get(on, 0.0) if strength is None else strength
    goal = Attack(on, given, bodies, axes, parameters)
    Attacker(goal).axis.check(goal.strength)
    AttackRules(task, goal)  # raises for what the task does not have
    if on == "parameters" and strength is None:
        return None
    check_number("strength", given, above=0)  # Attack allows none, of evaluations
    return goal


def _check_folder(folder: Path, request: Mapping[str, Any], resume: bool) -> None:
    """Raise unless the folder is new or empty, or holds the attack that is to be resumed."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"the output folder {folder} is a file")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not resume:
        raise InvalidInputError(
            f"the folder {folder} is not empty: choose another as out, or resume the attack in it"
        )
    if not (folder / REQUEST).is_file():
        raise InvalidInputError(f"there is no attack to resume in {folder}")
    known = read_json(folder / REQUEST)
    for name, value in json.loads(json.dumps(request)).items():  # tuples are lists there
        if known.get(name) != value:
            raise InvalidInputError(
                f"the attack in {folder} has the {name} {known.get(name)}, not {value}: "
                "choose another folder as out"
            )


def _write_request(folder: Path, request: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / REQUEST, {"format_version": FORMAT_VERSION, **request})


def _strongest(
    attempt: Attempt,
    goal: Attack,
    ways: Sequence[tuple[float, int]],
    steps: int,
    folder: Path,
    resume: bool,
    progress: OnProgress,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Train attackers, keep the strongest, and evaluate it; return the summary and the episodes.

    ``ways`` are the learning rate and the number of each attacker.
    """
    world = attackers_world(attempt.handle, attempt.task, goal)
    tried: list[dict[str, Any]] = []
    policies: list[Policy] = []
    for number, (rate, place) in enumerate(ways):
        run = folder / "attackers" / f"lr{rate:g}-seed{place}"
        seed = attempt.seed + 2 + place
        config = configure(world, **settings(steps), seed=seed, eta=rate)

        def watch(status: Status, before: int = number * steps) -> None:
            progress(before + status.step, steps * len(ways))

        train_config(config, out=run, resume=resume, watch=watch)
        policies.append(trained_attacker(run, goal, attempt.task))
        own = {"run": str(run.relative_to(folder)), "learning_rate": rate, "seed": seed}
        chosen_by = attempt.mean(Attacker(goal, policies[-1]))
        tried.append({**own, "chosen_by": chosen_by, "curve": learning_curve(run)})
    best = min(range(len(tried)), key=lambda i: tried[i]["chosen_by"])
    save_policy(folder, policies[best], "attacker")
    at_random, attacker = Attacker(goal), Attacker(goal, policies[best], goal.name)
    tables = {
        "none": attempt.measure(),
        "random": attempt.measure(attack=at_random),
        "attacker": attempt.measure(attack=attacker),
    }
    returns = {name: returns_of(table) for name, table in tables.items()}
    taken = returns["none"]["mean"] - returns["attacker"]["mean"]
    rivals = {"attacker": tried[best]["chosen_by"], "random": attempt.mean(at_random)}
    if goal.on != "parameters":  # for parameters, the nominal world may be out of bounds
        rivals["none"] = attempt.mean()
    told = {
        "returns": returns,
        "strongest": min(rivals, key=lambda name: rivals[name]),
        "still_improved": still_improved(tried[best]["curve"], taken),
        "kept": tried[best]["run"],
        "attackers": tried,
    }
    return told, concat_tables(tables.values())


def _sentence(summary: Mapping[str, Any]) -> str:
    """The result of an attack in one sentence."""
    returns, strength = summary["returns"], summary["strength"]
    count = "1 episode" if summary["episodes"] == 1 else f"{summary['episodes']} episodes"
    how = "" if strength is None else f" of strength {strength:g}"
    words = (
        f"{summary['policy']} is at most this good in {summary['task']} under attacks{how} on "
        f"{summary['on']}: mean return {returns[summary['strongest']]['mean']:.1f} over "
        f"{count} ({returns['none']['mean']:.1f} without attack, "
        f"{returns['random']['mean']:.1f} at random); it is an upper bound on the worst case"
    )
    if strength is None:
        where = ", ".join(f"{name} {value:g}" for name, value in summary["worst"].items())
        tried = {"grid": "points of a grid", "cma-es": "worlds that CMA-ES tried"}
        of = f"{summary['points']} {tried[summary['search']]}"
        if summary["strongest"] == "none":
            return f"{words}, and none of {of} is worse than the task's own world"
        return f"{words}, and the worst of {of}, at {where}"
    if summary["strongest"] != "attacker":
        control = {"random": "as strong as the random one", "none": "stronger than no attack"}
        how = control[summary["strongest"]]
        return f"{words}, and no attacker was {how}: give them more steps"
    doubts = {
        True: ", and the attacker still improved when it stopped",
        None: ", and the training was too short to tell whether the attacker still improved",
    }
    return words + doubts.get(summary["still_improved"], "")
