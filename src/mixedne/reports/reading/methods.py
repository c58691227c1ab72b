"""Methods in words: labels of curves, and what tells one configuration from another."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from mixedne.config.identity import settings
from mixedne.names import AGENTS, FORMULATIONS
from mixedne.reports import style

SOLVERS = {solver: look.label for solver, look in style.SOLVERS.items()}

CASE = ("task", "agent", "solver", "formulation", "delta", "preset")
"""Fields of the configuration that have a column of their own."""

Case = tuple[Any, ...]


def is_sensible(config: Mapping[str, Any]) -> bool:
    """Whether the fields that name a method are of the types that they should be."""
    kinds: dict[str, tuple[type, ...]] = {
        **dict.fromkeys(("agent", "solver", "formulation", "preset"), (str, type(None))),
        "task": (str,),
        "delta": (int, float, type(None)),
        "seed": (int, type(None)),
    }
    return all(type(config.get(name)) in kind for name, kind in kinds.items())


def identity(config: Mapping[str, Any]) -> str:
    """The same text for two configurations of the same run."""
    return json.dumps({**settings(config), "seed": config.get("seed")}, sort_keys=True)


def case_of(config: Mapping[str, Any]) -> Case:
    """What the columns say of a configuration."""
    return tuple(config.get(name) for name in CASE)


def by_case(configs: Iterable[Mapping[str, Any]]) -> dict[Case, list[Mapping[str, Any]]]:
    """Configurations with those that agree with them in the columns."""
    cases: dict[Case, list[Mapping[str, Any]]] = defaultdict(list)
    for config in configs:
        cases[case_of(config)].append(config)
    return cases


def differing(configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """The settings in which configurations of one case differ.

    One that a configuration lacks, because an older version made it, tells nothing.
    """
    values: dict[str, set[str]] = {}
    for config in configs:
        for name, value in settings(config).items():
            values.setdefault(name, set()).add(json.dumps(value))
    return [name for name, found in values.items() if len(found) > 1 and name not in CASE]


def settings_in_words(config: Mapping[str, Any], names: Iterable[str]) -> str:
    """``updates=100, eta=0.001``."""
    return ", ".join(f"{name}={_word(config[name])}" for name in names if name in config)


def labels(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """A label for each configuration: solver, and what tells it from others of its agent and δ.

    A setting in which the runs on one task differ is named on all tasks, so that a method has one
    name. A policy from elsewhere, of which the agent is not known, goes by its own name.
    """
    presets: dict[Any, set[Any]] = defaultdict(set)
    differ: dict[Case, dict[str, None]] = defaultdict(dict)
    for case, alike in by_case(configs.values()).items():
        presets[case[1]].update(filter(None, case[-1:]))
        differ[case[1:]].update(dict.fromkeys(differing(alike)))
    return {
        key: _label(
            config,
            preset=len(presets[config.get("agent")]) > 1,
            settings=settings_in_words(config, differ[case_of(config)[1:]]),
        )
        for key, config in configs.items()
    }


def _label(config: Mapping[str, Any], *, preset: bool, settings: str) -> str:
    agent, solver, formulation = (config.get(name) for name in CASE[1:4])
    if agent is None:
        return str(config.get("run"))
    words = [agent_in_words(agent) if solver is None else SOLVERS.get(solver, solver)]
    if formulation not in (None, "nr-mdp"):
        words.append(FORMULATIONS.get(formulation, formulation))
    if preset and config.get("preset") is not None:
        words.append(f"preset {config['preset']}")
    return ", ".join([*words, settings] if settings else words)


def agent_in_words(agent: str | None) -> str:
    """DDPG, TD3, SAC, VPG."""
    return "policy" if agent is None else AGENTS.get(agent, agent.upper())


def method_in_words(agent: str | None, label: str, delta: float | None) -> str:
    """``DDPG, GAD, δ = 0.1``."""
    words = [] if agent is None or label == agent_in_words(agent) else [agent_in_words(agent)]
    words.append(label)
    if delta is not None and agent not in (None, "sac"):
        words.append(f"δ = {delta:g}")
    return ", ".join(words)


def numbers_in_words(numbers: Iterable[int]) -> str:
    """``0 to 4, 7``."""
    ordered = sorted(set(numbers))
    spans: list[list[int]] = []
    for number in ordered:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(f"{s[0]} to {s[-1]}" if len(s) > 2 else ", ".join(map(str, s)) for s in spans)


def _word(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace("[", "(").replace("]", ")")
