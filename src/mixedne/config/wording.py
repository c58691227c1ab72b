"""Settings in words: in what configurations differ, for the tables of studies and for reports."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from mixedne.config.identity import settings


def differing(configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """The settings in which configurations, given as ``config.json`` holds them, differ.

    A setting that one of them lacks, because an older version made it, does not count as such.
    """
    values: dict[str, set[str]] = {}
    for config in configs:
        for name, value in settings(config).items():
            values.setdefault(name, set()).add(json.dumps(value))
    return [name for name, found in values.items() if len(found) > 1]


def settings_in_words(config: Mapping[str, Any], names: Iterable[str]) -> str:
    """Some settings, as far as the configuration has them: ``updates=100, eta=0.001``."""
    return ", ".join(f"{name}={_word(config[name])}" for name in names if name in config)


def _word(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace("[", "(").replace("]", ")")
