"""The package's exceptions, and checks with uniform messages that many modules use."""

import difflib
import importlib
import json
import math
from collections.abc import Iterable
from typing import Any

MANY = 10
"""Number of choices above which a message names only the closest instead of all."""


class InvalidInputError(ValueError):
    """The user's input is invalid.

    The message is one sentence that states the rule and the value given. The command line
    prints it and exits with code 2.
    """


def check_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``choices``; otherwise raise, suggesting the closest.

    If there are many choices, only the closest is named: it would be overlooked at the end of a
    long list.
    """
    options = list(choices)
    if value in options:
        return value
    near = difflib.get_close_matches(value, options, n=1) if isinstance(value, str) else []
    if near and len(options) > MANY:
        raise InvalidInputError(f"{name} cannot be {value!r}; did you mean {near[0]!r}?")
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InvalidInputError(f"{name} must be one of {', '.join(options)}, not {value!r}{hint}")


def check_known(kind: str, name: str, known: Iterable[str]) -> str:
    """Return ``name`` if it is known; otherwise raise, with the closest before a long list."""
    options = list(known)
    if name in options:
        return name
    near = difflib.get_close_matches(name, options, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(options)}"
    raise InvalidInputError(f"there is no {kind} {name!r}; {hint}")


def parse_json(text: str | bytes) -> Any:
    """Parse a JSON document; anything wrong, even extreme depth or numbers, is a ValueError."""

    def number(digits: str) -> float:
        value = int(digits) if digits.lstrip("-").isdigit() else float(digits)
        if not abs(value) < 2**63:
            raise ValueError(f"a number must be below 2^63, not {digits[:20]}")
        return value

    try:
        found = json.loads(text, parse_int=number, parse_float=number, parse_constant=number)
        json.dumps(found, ensure_ascii=False).encode()  # raises for lone surrogates
        return found
    except RecursionError:
        raise ValueError("the document is nested too deeply") from None


def optional_import(module: str, sentence: str) -> Any:
    """Import a module of an optional package, or raise with the sentence on what to install."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InvalidInputError(sentence) from None


def check_number(
    name: str,
    value: Any,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
) -> None:
    """Raise unless every entry of ``value`` is finite and lies within the bounds given.

    Values that JAX is tracing have no numbers yet and pass unchecked, so that a checked
    constructor can still be called inside ``jit`` and ``vmap``.
    """
    import numpy as np  # not at the top: every import of the package imports this module

    numbers: Any
    try:  # fast path: studies check a hundred thousand single numbers
        single = isinstance(value, int | float)
        numbers = float(value) if single else np.asarray(value, dtype=float)
    except OverflowError:
        raise InvalidInputError(f"{name} is too large") from None
    except TypeError:  # a tracer, or a callable schedule
        return
    except ValueError:
        raise InvalidInputError(f"{name} must be a number, not {value!r}") from None
    rules = [
        (math.isfinite(numbers) if single else np.isfinite(numbers), "finite"),
        (at_least is None or numbers >= at_least, f"at least {at_least}"),
        (above is None or numbers > above, f"above {above}"),
        (at_most is None or numbers <= at_most, f"at most {at_most}"),
        (below is None or numbers < below, f"below {below}"),
    ]
    for holds, rule in rules:
        if holds is not True and not np.all(holds):
            raise InvalidInputError(f"{name} must be {rule}, not {value}")


def check_count(name: str, value: Any, *, at_least: int) -> None:
    """Raise unless ``value`` is a whole number, and not too small."""
    if type(value) is not int or value < at_least:
        raise InvalidInputError(
            f"{name} must be a whole number of at least {at_least}, not {value!r}"
        )


class TrainingError(RuntimeError):
    """A run cannot continue, although its input was valid.

    The message is one sentence on what happened and what is kept. The command line prints it and
    exits with code 1.
    """


EXPECTED = (InvalidInputError, TrainingError, OSError, MemoryError)
"""Errors that are not bugs: only their message is shown, without a traceback."""


def first_line(error: BaseException) -> str:
    """The message of an error from external code, in one line."""
    return str(error).strip().split("\n")[0] or type(error).__name__
