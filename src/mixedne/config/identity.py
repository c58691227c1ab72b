"""The identity of a run: its identifier, name, command, JSON form and settings in words.

The identifier is a hash of the resolved configuration, so the same run has the same identifier in
every study, and is done once. Fields without effect are left out of the hash, and so are fields
with ``Config``'s own defaults: a later version may add fields, and old runs keep their identifiers.
"""

import dataclasses
import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from mixedne.config.config import DEFAULTS, SETTINGS, Config, derived, unused_fields
from mixedne.config.configure import coerce, preset_config
from mixedne.names import AGENTS, CHOICES, FORMULATIONS

WITHOUT_RESULT = tuple(name for name, known in SETTINGS.items() if known.changes == "nothing")
"""Fields that do not affect results: runs that differ only in these are the same."""

DOCUMENT = ("format_version", "command", "machine", "versions", "run", "policy")
"""Keys of ``config.json`` and of tables that are not fields of the configuration."""

LANES = 8
"""Runs of VPG per compiled program. The results of all runs depend on it, so it never changes."""

_JSON_DEFAULTS = json.loads(json.dumps(DEFAULTS))


def identifier(fields: Mapping[str, Any]) -> str:
    """The hash of a configuration, given as in ``config.json``; it may be incomplete."""
    unused = _unused(fields)
    usual = {
        name: value
        for name, value in derived(fields, given=()).items()
        if not SETTINGS[name].hash_derived
    }
    counted = {
        name: fields[name]
        for name, default in _JSON_DEFAULTS.items()
        if name in fields
        and fields[name] != usual.get(name, default)
        and name not in WITHOUT_RESULT
        and name not in unused
    }
    text = json.dumps({"task": fields.get("task"), **counted}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def settings(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that affect the policy, without the seed.

    The document may be incomplete or from another program; unknown names are kept.
    """
    left_out = {"seed", *DOCUMENT, *_unused(fields)}
    left_out |= {name for name, known in SETTINGS.items() if known.changes != "policy"}
    return {name: value for name, value in fields.items() if name not in left_out}


def _unused(fields: Mapping[str, Any]) -> Mapping[str, str]:
    """The fields without effect; empty for agents that are not part of this package."""
    choices = (fields.get(name, DEFAULTS[name]) for name in ("agent", "solver", "formulation"))
    agent, solver, formulation = (it if isinstance(it, str) else None for it in choices)
    if agent not in AGENTS:
        return {}
    return unused_fields(agent, solver, formulation if formulation in FORMULATIONS else "nr-mdp")


def to_json(config: Config) -> dict[str, Any]:
    """The configuration as a JSON object, with lists for tuples."""
    return dict(json.loads(json.dumps(dataclasses.asdict(config))))


def with_defaults(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as in ``config.json``, with the defaults of fields that it lacks.

    A run of an older version lacks later fields, and has trained as their defaults say. Nothing is
    known of agents that are not part of this package.
    """
    if fields.get("agent") not in AGENTS:
        return dict(fields)
    return {**_JSON_DEFAULTS, **derived(fields, given=fields), **fields}


def from_json(fields: Mapping[str, Any]) -> Config:
    """The configuration from a JSON object, which an older or newer version may have written."""
    values = {name: coerce(name, value) for name, value in fields.items() if name in SETTINGS}
    return Config(**{**values, **derived(values, given=values)})


def command(config: Config) -> str:
    """The command line that runs this configuration."""
    chosen = [getattr(config, name) for name in CHOICES]
    changes: dict[str, Any] = {}
    # First the fields from which rules derive others, then those that differ from what is derived.
    for names in ([n for n, known in SETTINGS.items() if known.derive is None], [*SETTINGS]):
        default = preset_config(chosen, **changes)
        changes |= {
            name: getattr(config, name)
            for name in names
            if name not in CHOICES and getattr(config, name) != getattr(default, name)
        }
    needless = ["task", *(["delta"] if config.delta is None else [])]
    needless += ["solver", "formulation", "delta"] if config.solver is None else []
    named = [name for name in (*CHOICES, "steps", "seed") if name not in needless]
    given = [name for name in SETTINGS if name in named or name in changes]
    flags = [word for name in given for word in _flag(name, getattr(config, name))]
    return shlex.join(["mixedne", "train", config.task, *flags])


def _flag(name: str, value: Any) -> list[str]:
    """The words of an option on the command line."""
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    values = value if isinstance(value, tuple) else (value,)
    return [f"--{option}", *map(str, values)]


def run_name(fields: Mapping[str, Any]) -> str:
    """A name for the run of a configuration, given as a dictionary or JSON object."""
    is_shared = fields["solver"] is not None and fields["delta"] is not None
    delta = f"delta{fields['delta']:g}" if is_shared else None
    drawn = "randomised" if fields.get("randomise") else None
    words = [fields["agent"], fields["solver"], fields["formulation"], delta, drawn]
    words.append(fields["preset"])
    told = [word for word in words if word not in (None, "nr-mdp", "paper")]  # no defaults
    return "-".join([re.sub("[/:]", "_", fields["task"]), *told, f"seed{fields['seed']}"])


def differing(configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """The settings in which configurations, given as in ``config.json``, differ.

    A setting that is missing in one of them, as in files of older versions, is not a difference.
    """
    values: dict[str, set[str]] = {}
    for config in configs:
        for name, value in settings(config).items():
            values.setdefault(name, set()).add(json.dumps(value))
    return [name for name, found in values.items() if len(found) > 1]


def settings_in_words(config: Mapping[str, Any], names: Iterable[str]) -> str:
    """The named settings that the configuration has, in words: ``updates=100, eta=0.001``."""
    found = {name: config[name] for name in names if name in config}
    words = [f"{n}={v:g}" if isinstance(v, float) else f"{n}={v}" for n, v in found.items()]
    return ", ".join(words).replace("[", "(").replace("]", ")")


def compile_key(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the compiled program depends on, and whether there is thermal noise."""
    traced = {name for name, known in SETTINGS.items() if known.traced}
    fixed = {name: value for name, value in fields.items() if name not in traced}
    return {**fixed, "sigma0 > 0": fields["sigma0"] > 0}
