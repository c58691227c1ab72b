"""Which run a configuration is: its identifier, its name, its command, its JSON form.

The identifier is a hash of the resolved configuration, so the same run has the same identifier in
every study, and is done once. Fields without effect do not enter it, and neither do fields at the
values of ``Config``'s own defaults: a later version may have more fields, and the old runs keep
their identifiers.
"""

import dataclasses
import functools
import hashlib
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mixedne.config.config import Config, default_config
from mixedne.config.unused import without_effect

WITHOUT_RESULT = ("tensorboard", "checkpoint_every")
"""Fields that change no result: runs that differ in them alone are the same."""

LOGGING = (
    *(*WITHOUT_RESULT, "metrics_every", "evaluate_every"),
    *("evaluate_masses", "evaluate_rhos", "evaluate_episodes"),
)
"""Fields that change no policy."""

DOCUMENT = ("format_version", "command", "machine", "versions", "run")
"""What a document holds beside the configuration."""

CONFIG_FIELDS = [field.name for field in dataclasses.fields(Config)]

_DEFAULTS = {
    field.name: json.loads(json.dumps(field.default))
    for field in dataclasses.fields(Config)
    if field.default is not dataclasses.MISSING
}


def identifier(fields: Mapping[str, Any]) -> str:
    """The hash of a configuration, given as ``config.json`` has it."""
    idle = unused_fields(fields["agent"], fields["solver"])
    usual = {"inner": "coupled" if fields["agent"] == "vpg" else "frozen"}
    counted = {
        name: fields[name]
        for name, default in _DEFAULTS.items()
        if name in fields
        and fields[name] != usual.get(name, default)
        and name not in WITHOUT_RESULT
        and name not in idle
    }
    text = json.dumps({"task": fields["task"], **counted}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def settings(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that make a policy what it is, apart from the seed."""
    left_out = {"seed", *DOCUMENT, *LOGGING, *unused_fields(fields["agent"], fields["solver"])}
    return {name: value for name, value in fields.items() if name not in left_out}


def read_config_fields(fields: Mapping[str, Any]) -> Config:
    """The configuration from JSON: lists are tuples."""
    known = {field.name for field in dataclasses.fields(Config)}
    return Config(**with_tuples({name: fields[name] for name in fields if name in known}))


def as_json(config: Config) -> dict[str, Any]:
    """The configuration as JSON has it: tuples are lists."""
    document: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config)))
    return document


def command(config: Config) -> str:
    """What to type for a run with this configuration."""
    choices = (config.agent, config.solver, config.formulation, config.delta, config.preset)
    default = default_config(config.task, *choices)
    named = ("agent", "solver", "formulation", "delta", "preset", "steps", "seed")
    own = [
        field.name
        for field in dataclasses.fields(Config)
        if field.name != "task"
        and (field.name in named or getattr(config, field.name) != getattr(default, field.name))
    ]
    if config.solver is None:
        own = [name for name in own if name not in ("solver", "formulation", "delta")]
    flags = [word for name in own for word in _flag(name, getattr(config, name))]
    return shlex.join(["mixedne", "train", config.task, *flags])


def _flag(name: str, value: Any) -> list[str]:
    """An option as the command line takes it."""
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    values = value if isinstance(value, tuple) else (value,)
    return [f"--{option}", *map(str, values)]


def run_name(fields: Mapping[str, Any]) -> str:
    """A run in words, without what makes it unique: ``Hopper-v5-td3-gad-delta0.1-seed0``."""
    words = [fields["task"].replace("/", "_").replace(":", "_"), fields["agent"]]
    if fields["solver"] is not None:
        words.append(fields["solver"])
    if fields["formulation"] != "nr-mdp":
        words.append(fields["formulation"])
    if fields["solver"] is not None:
        words.append(f"delta{fields['delta']:g}")
    if fields["preset"] != "paper":
        words.append(fields["preset"])
    return "-".join([*words, f"seed{fields['seed']}"])


def default_folder(config: Config) -> Path:
    """The run folder, unless the user names one."""
    return Path("runs") / run_name(vars(config))


@functools.cache
def unused_fields(agent: str, solver: str | None) -> dict[str, str]:
    """The fields that do nothing here, and what they would need."""
    needs = without_effect(agent, None if agent == "sac" else solver)
    return {name: needed for needed, names in needs.items() for name in names}


def with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as ``Config`` has them: JSON knows lists alone."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
