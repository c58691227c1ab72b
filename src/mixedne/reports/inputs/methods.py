"""Which method a configuration is of: its identity, its label, and what it differs in."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from mixedne.config.identity import differing, settings, settings_in_words
from mixedne.names import CHOICES, FORMULATIONS
from mixedne.reports.names import solver_words

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
    return tuple(config.get(name) for name in CHOICES)


def by_case(configs: Iterable[Mapping[str, Any]]) -> dict[Case, list[Mapping[str, Any]]]:
    """Configurations with those that agree with them in the columns."""
    cases: dict[Case, list[Mapping[str, Any]]] = defaultdict(list)
    for config in configs:
        cases[case_of(config)].append(config)
    return cases


def differing_settings(configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """The settings without a column of their own in which configurations of one case differ."""
    return [name for name in differing(configs) if name not in CHOICES]


def labels(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """A label for each configuration: solver, and what tells it from others of its agent and δ.

    A setting in which the runs on one task differ is named on all tasks, so that a method has one
    name. A policy from elsewhere, of which the agent is not known, goes by its own name.
    """
    presets: dict[Any, set[Any]] = defaultdict(set)
    differ: dict[Case, dict[str, None]] = defaultdict(dict)
    for (_, *method), alike in by_case(configs.values()).items():
        agent, *_, preset = method
        presets[agent].update(filter(None, [preset]))
        differ[tuple(method)].update(dict.fromkeys(differing_settings(alike)))
    return {
        key: _label(
            config,
            preset=len(presets[config.get("agent")]) > 1,
            settings=settings_in_words(config, differ[case_of(config)[1:]]),
        )
        for key, config in configs.items()
    }


def _label(config: Mapping[str, Any], *, preset: bool, settings: str) -> str:
    if config.get("agent") is None:
        return str(config.get("run"))
    words = [solver_words(config.get("solver"), config["agent"])]
    formulation = config.get("formulation")
    if formulation not in (None, "nr-mdp"):
        words.append(FORMULATIONS.get(formulation, formulation))
    if preset and config.get("preset") is not None:
        words.append(f"preset {config['preset']}")
    return ", ".join([*words, settings] if settings else words)
