"""Methods of configurations: their names, and the commands that reproduce them.

A page shows commands next to a copy button, so strings from files are never shown as they are: a
run's command is rebuilt from a configuration that passes all checks, and a study's command may
only contain known options and plain names.
"""

import functools
import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from mixedne.config.configure import preset_config
from mixedne.config.identity import (
    command,
    differing,
    from_json,
    settings,
    settings_in_words,
    to_json,
)
from mixedne.errors import InvalidInputError
from mixedne.names import AGENTS, CHOICES, FORMULATIONS
from mixedne.reports.style import number_words, solver_words

Case = tuple[Any, ...]
Config = Mapping[str, Any]

KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("agent", "solver", "formulation", "preset"), (str, type(None))),
    "task": (str,),
    "delta": (int, float, type(None)),
    "seed": (int, type(None)),
}
"""The types of the fields that identify a method."""

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)?")
"""Plain names of tasks, studies and choices; not ``module:Id``, which would import the module."""

SHIFT = re.compile(r"[A-Za-z0-9_.:=,/ \[\]+-]*")
"""Texts of axes, bodies and sets."""

STUDY_OPTIONS = ("tasks", "agents", "solvers", "seeds", "steps")
"""Options of ``mixedne study`` that affect which runs it has."""


def is_sensible(config: Config) -> bool:
    """Whether the fields that identify a method have the right types."""
    return all(type(config.get(name)) in kinds for name, kinds in KINDS.items())


def identity(config: Config) -> str:
    """A text that is the same for two configurations of the same run."""
    return json.dumps({**settings(config), "seed": config.get("seed")}, sort_keys=True)


def case_of(config: Config) -> Case:
    """The values of a configuration in the columns of a method."""
    return tuple(config.get(name) for name in CHOICES)


def by_case(configs: Mapping[str, Config]) -> dict[Case, dict[str, Config]]:
    """Named configurations, grouped by their values in the columns of a method."""
    cases: dict[Case, dict[str, Config]] = defaultdict(dict)
    for name, config in configs.items():
        cases[case_of(config)][name] = config
    return cases


def differing_settings(configs: Mapping[str, Config]) -> list[str]:
    """The settings without their own column in which configurations of one case differ."""
    return [name for name in differing(configs.values()) if name not in CHOICES]


def labels(configs: Mapping[str, Config]) -> dict[str, str]:
    """A label for each configuration: the solver, and how it differs from others with its agent, δ.

    Of the settings in which the runs on one task differ, those are named that depart from the
    preset, which may have other values on each task. External policies keep their own names.
    """
    presets: dict[Any, set[Any]] = defaultdict(set)
    differ: dict[Case, dict[str, None]] = defaultdict(dict)
    for (_, *method), alike in by_case(configs).items():
        agent, *_, preset = method
        presets[agent].update(filter(None, [preset]))
        differ[tuple(method)].update(dict.fromkeys(differing_settings(alike)))

    def label(config: Config) -> str:
        _, agent, solver, formulation, _, preset = case_of(config)
        if agent not in AGENTS:
            return str(config.get("run") or solver_words(solver, agent))
        known = formulation not in (None, "nr-mdp")
        drawn, usual = config.get("randomise"), _preset_values(case_of(config))
        differs = [
            name
            for name in differ[case_of(config)[1:]]
            if name != "randomise" and (name not in usual or config.get(name) != usual[name])
        ]
        words = (
            solver_words(solver, agent),
            FORMULATIONS.get(formulation, formulation) if known else None,
            f"domain randomisation ({', '.join(map(str, drawn))})"
            if isinstance(drawn, list)
            else None,
            f"preset {preset}" if preset is not None and len(presets[agent]) > 1 else None,
            settings_in_words(config, differs),
        )
        return ", ".join(filter(None, words))

    found = {key: label(config) for key, config in configs.items()}
    # Files in different folders may have the same name, and would be taken for seeds of a method.
    others = [key for key, config in configs.items() if config.get("agent") not in AGENTS]
    times = Counter(found[key] for key in others)
    for key in others:
        if times[found[key]] > 1:
            found[key] += f" ({configs[key].get('policy')})"
    return found


@functools.lru_cache(maxsize=1000)
def _preset_values(case: Case) -> Config:
    """The configuration of a case's preset; empty if there is none."""
    try:
        return to_json(preset_config(case))
    except (InvalidInputError, LookupError, TypeError, ValueError, AttributeError):
        return {}


def train_commands(configs: Iterable[Config]) -> list[str]:
    """One command for runs that differ only in their seed, with the first of their seeds."""
    seeds: dict[str, list[int]] = defaultdict(list)
    for config in configs:
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            made = from_json(config)
            texts = [made.bodies, made.axes, *(made.parameters or ()), *(made.randomise or ())]
            if NAME.fullmatch(made.task) and all(map(SHIFT.fullmatch, filter(None, texts))):
                seeds[command(replace(made, seed=0)).replace(" --seed 0", "")].append(made.seed)
    return [
        f"{line} --seed {min(found)}"
        + (f"  # and with seeds {number_words(found)}" if len(set(found)) > 1 else "")
        for line, found in seeds.items()
    ]


def study_command(plan: Config, folder: Path) -> str | None:
    """The command that continues a study in its folder; None if its plan has no safe command."""
    try:
        _, _, study, *said = shlex.split(plan["command"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    options: dict[str, list[str]] = {}
    name = ""
    for word in said:
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            options[name] = [value] if value else []
        else:
            options.setdefault(name, []).append(word)
    chosen = {name: options[name] for name in STUDY_OPTIONS if name in options}
    if not all(map(NAME.fullmatch, [Path(study).name, *chain(*chosen.values())])):
        return None
    flags = chain.from_iterable((f"--{name}", *values) for name, values in chosen.items())
    return shlex.join(["mixedne", "study", Path(study).name, *flags, "--out", str(folder)])
