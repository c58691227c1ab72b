"""Methods in words: labels of curves, and what tells one configuration from another."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

SOLVERS = {"mixedne-ld": "MixedNE-LD", "gad": "GAD", "extra-adam": "Extra-Adam"}

FORMULATIONS = {"nr-mdp": "NR-MDP", "pr-mdp": "PR-MDP"}

CASE = ("task", "agent", "solver", "formulation", "delta", "preset")
"""Fields of the configuration that have a column of their own."""

BESIDE = (
    *("seed", "run", "format_version", "versions", "command", "machine"),
    *("tensorboard", "checkpoint_every", "metrics_every"),
    *("evaluate_every", "evaluate_masses", "evaluate_rhos", "evaluate_episodes"),
)
"""What ``config.json`` holds beside the settings of the method."""


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a method, without its seed and what changes no policy."""
    return {name: value for name, value in config.items() if name not in BESIDE}


def identity(config: Mapping[str, Any]) -> str:
    """The same text for two configurations of the same run."""
    return json.dumps({**settings_of(config), "seed": config.get("seed")}, sort_keys=True)


def differing(configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """The settings in which configurations of one case differ.

    One that a configuration lacks, because an older version made it, tells nothing.
    """
    values: dict[str, set[str]] = {}
    for config in configs:
        for name, value in settings_of(config).items():
            values.setdefault(name, set()).add(json.dumps(value))
    return [name for name, found in values.items() if len(found) > 1 and name not in CASE]


def settings_in_words(config: Mapping[str, Any], names: Iterable[str]) -> str:
    """``updates=100, eta=0.001``."""
    return ", ".join(f"{name}={_word(config[name])}" for name in names if name in config)


def label(row: Mapping[str, Any], *, preset: bool, settings: str) -> str:
    """A method's name among those of its agent and δ; of a policy from elsewhere, its own.

    ``preset`` says whether the preset has to be named.
    """
    agent, solver, formulation = (row.get(name) for name in ("agent", "solver", "formulation"))
    if agent is None:
        return str(row.get("run"))
    words = [agent_in_words(agent) if solver is None else SOLVERS.get(solver, str(solver))]
    if formulation not in (None, "nr-mdp"):
        words.append(FORMULATIONS.get(formulation, str(formulation)))
    if preset and row.get("preset") is not None:
        words.append(f"preset {row['preset']}")
    return ", ".join([*words, settings] if settings else words)


def agent_in_words(agent: str | None) -> str:
    """DDPG, TD3, SAC, VPG."""
    return "policy" if agent is None else agent.upper()


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
    return (
        f"{value:g}" if isinstance(value, float) else str(value).replace("[", "(").replace("]", ")")
    )
