"""Build a configuration from the user's choices, a preset and overrides of single fields.

In order of increasing priority: ``Config``'s own defaults, the preset's values for the agent, the
paper's tables for the task, rules that derive a default from other fields (σ of TD3's target
noise), and what the user sets.
"""

import inspect
import numbers
import re
import typing
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from types import UnionType
from typing import TYPE_CHECKING, Any

from mixedne.config import presets
from mixedne.config.config import DETERMINISTIC, OF_ADVERSARIES, Config, derived, unused_fields
from mixedne.errors import InvalidInputError, check_choice, check_known, check_number
from mixedne.names import AGENTS, CHOICES, FORMULATIONS, PRESETS, SOLVERS, either

if TYPE_CHECKING:
    from mixedne.games import Game
    from mixedne.tasks import Task

MAX_NUMBERS = 1000
"""Maximum length of a list, e.g. of hidden layers."""

_SETS = ("randomise", "parameters")
"""Fields of intervals and uncertainty sets."""

_TYPES = typing.get_type_hints(Config)


def set_files(overrides: Mapping[str, Any]) -> list[str]:
    """The files of uncertainty sets in these fields; a configuration has only their bounds."""
    given = [coerce(name, overrides[name]) or () for name in _SETS if name in overrides]
    return [word for words in given for word in words if word.endswith(".toml")]


def configure(
    task: str,
    *,
    agent: str | None = None,
    solver: str | None = None,
    formulation: str | None = None,
    delta: float | None = None,
    preset: str = "paper",
    protagonist: str | None = None,
    **overrides: Any,
) -> Config:
    """The configuration for these choices, with single fields set by ``overrides``.

    The default agent is DDPG, or TD3 with the preset ``robust``. The default solver is MixedNE-LD
    and the default δ is 0.1; SAC uses neither. The default formulation is NR-MDP, unless the task
    is itself a two-player game. ``protagonist`` is the player of such a game that is trained as the
    agent; it becomes a part of the task's name.
    """
    from mixedne.shifts.sets import without_files
    from mixedne.tasks import resolve_task

    task = protagonist_task(task, protagonist)
    for name in overrides:
        check_known("field of the configuration", name, _TYPES)
    choices = choose(task, agent, solver, formulation, delta, preset)
    overrides = {name: coerce(name, value) for name, value in overrides.items()}
    for name in _SETS:
        if overrides.get(name):
            overrides[name] = without_files(overrides[name], choices[0])
    config, default = preset_config(choices, **overrides), preset_config(choices)
    found, used = resolve_task(config.task), (config.agent, config.solver, config.formulation)
    lacking = {name: f"with {needed}" for name, needed in unused_fields(*used).items()}
    if config.entropy_coefficient is not None:
        for name in ("initial_temperature", "target_entropy"):
            lacking[name] = "with a learned α, without entropy_coefficient"
    if config.delta == 0:
        lacking |= dict.fromkeys(OF_ADVERSARIES, "with an adversary")
    if config.inner_max == 1 and "inner_max" not in overrides:
        lacking.setdefault("inner_growth", "with an inner_max above 1")
    if config.output != "average":
        lacking["average_decay"] = "with the output average"
    for name, axis in {"evaluate_masses": "mass", "evaluate_rhos": "rho"}.items():
        if axis not in found.axes:
            lacking[name] = f"in a task that has {axis}"
    for name in overrides:
        if name in lacking and getattr(config, name) != getattr(default, name):
            raise InvalidInputError(f"{name} has an effect only {lacking[name]}")
    game_of(config, found)
    return config


def choose(
    task: str,
    agent: str | None = None,
    solver: str | None = None,
    formulation: str | None = None,
    delta: float | None = None,
    preset: str = "paper",
) -> tuple[Any, ...]:
    """The choices in the order of ``CHOICES``, checked and with defaults filled in."""
    from mixedne.tasks import JAX_TASKS, resolve_task

    found = resolve_task(coerce("task", task))
    if formulation is None:
        formulation = "nr-mdp" if found.opponent is None else "pettingzoo"
    check_choice("preset", preset, PRESETS)
    own = presets.OWN_AGENTS.get(preset)
    agent = check_choice("agent", agent or own or "ddpg", AGENTS)
    if own and agent != own:
        raise InvalidInputError(f"the preset {preset} is for {own}, not for {agent}")
    unused = unused_fields(agent, solver, check_choice("formulation", formulation, FORMULATIONS))
    if "delta" not in unused:
        delta = coerce("delta", delta) if delta is not None else 0.0 if agent == "sac" else 0.1
    elif delta is not None:
        raise InvalidInputError(f"delta has an effect only with {unused['delta']}")
    elif agent not in DETERMINISTIC:
        raise InvalidInputError(
            f"{agent} takes no {formulation}: that needs {either(DETERMINISTIC)}"
        )
    if agent == "sac":
        if solver is not None:
            raise InvalidInputError(f"sac takes no solver, so not {solver!r}")
        if delta:
            raise InvalidInputError(f"sac has no adversary: delta must be 0, not {delta}")
    else:
        solver = check_choice("solver", solver or "mixedne-ld", SOLVERS)
    if agent == "vpg" and found.name not in JAX_TASKS:
        raise InvalidInputError(
            f"vpg plays in tasks that are written in JAX, such as {JAX_TASKS[0]}, not in {found.id}"
        )
    return found.id, agent, solver, formulation, delta, preset


def protagonist_task(task: str, protagonist: str | None) -> str:
    """The task's name, including the protagonist of a two-player game."""
    if protagonist is None:
        return task
    if not re.fullmatch("pettingzoo:[^:]+:[^:]+", task):
        raise InvalidInputError(
            f"protagonist is for tasks pettingzoo:module:factory, not for {task}"
        )
    return f"{task}:{protagonist}"


def game_of(config: Config, task: "Task") -> "Game":
    """The configuration's game in a task; raises ``InvalidInputError`` if it has none."""
    from mixedne.games import make_game, randomised

    _, *names = inspect.signature(make_game).parameters  # all but the task are fields of Config
    game = make_game(task, **{name: getattr(config, name) for name in names})
    return game if config.randomise is None else randomised(game, task, config.randomise)


def preset_config(choices: Sequence[Any], **overrides: Any) -> Config:
    """The preset's configuration with overrides; ``choices`` are in the order of ``CHOICES``.

    The task is not loaded; only its name is used.
    """
    task, agent, solver, formulation, delta, preset = choices
    values = dict(zip(CHOICES, choices, strict=True))
    values |= presets.preset_values(agent, preset, task_name(task), solver, delta)
    values |= presets.game_values(formulation, task_name(task))
    values |= overrides
    return Config(**{**values, **derived(values, given=overrides)})


def task_name(task: str) -> str:
    """A task's name without its version: ``Hopper`` for ``Hopper-v5``."""
    return re.sub(r"-v\d+$", "", task)


def is_in_tables(config: Config) -> bool:
    """Whether the paper's tables have this task, δ and solver, if the preset uses them."""
    place = (config.agent, task_name(config.task), config.delta, str(config.solver))
    needs_none = config.solver is None or config.preset in presets.OWN_AGENTS
    return needs_none or presets.table_values(*place) is not None


def total_updates(fields: Mapping[str, Any]) -> int:
    """The number of outer updates of a run, from its configuration as a dictionary."""
    if fields["agent"] == "vpg":
        return int(fields["steps"])
    if fields["steps"] <= fields["update_after"]:
        return 0
    cycles = -(-fields["steps"] // fields["collect_steps"])
    return int(fields["updates"] * (cycles - fields["update_after"] // fields["collect_steps"]))


def learning_gap(config: Config) -> str | None:
    """One sentence on why a run does not learn in most of its steps; None if it does."""
    if config.agent == "vpg":
        return None
    if config.steps <= config.update_after:
        return (
            f"the run learns nothing: it has {config.steps} steps, and updates begin after "
            f"{config.update_after} (update_after)"
        )
    if 2 * config.random_steps > config.steps:
        return (
            f"most of the run acts at random: {min(config.random_steps, config.steps)} of its "
            f"{config.steps} steps (random_steps)"
        )
    return None


def coerce(name: str, value: Any, kind: Any = None) -> Any:
    """Convert a Python or JSON value to the field's type, e.g. lists to tuples, ints to floats."""
    kind = _TYPES[name] if kind is None else kind
    value = str(value) if isinstance(value, PurePath) else value
    if isinstance(kind, UnionType):  # a type or None
        return None if value is None else coerce(name, value, typing.get_args(kind)[0])
    if kind == tuple[str, ...] and isinstance(value, str):
        return (value,)
    if typing.get_origin(kind) is tuple and isinstance(value, list | tuple):
        if len(value) > MAX_NUMBERS:
            raise InvalidInputError(
                f"{name} must be at most {MAX_NUMBERS} numbers, not {len(value)}"
            )
        return tuple(coerce(name, part, typing.get_args(kind)[0]) for part in value)
    if not isinstance(value, bool):
        whole = isinstance(value, numbers.Integral)
        if kind is int and (whole or (isinstance(value, float) and value.is_integer())):
            return int(value)
        if kind is float and isinstance(value, numbers.Real):
            check_number(name, value)
            return float(value)
    if kind in (bool, str) and isinstance(value, kind):
        return value
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    raise InvalidInputError(f"{name} must be {words.get(kind, 'a list')}, not {value!r}")
