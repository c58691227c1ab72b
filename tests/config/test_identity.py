"""Which run a configuration is: identifiers, settings, JSON."""

import json
from typing import Any

import pytest

from mixedne import InvalidInputError
from mixedne.config import SETTINGS, Config, configure
from mixedne.config.identity import (
    WITHOUT_RESULT,
    compile_key,
    from_json,
    identifier,
    run_name,
    settings,
    to_json,
)

CASES: list[dict[str, Any]] = [
    {},
    {"agent": "td3", "solver": "gad", "delta": 0.0, "sigma": 0.3},
    {"agent": "sac", "preset": "authors", "hidden": (8,), "target_entropy": None},
    {"task": "toy", "agent": "vpg", "clip_gradient": 2.0, "inner": "frozen"},
]


def fields(**overrides: Any) -> dict[str, Any]:
    return to_json(configure(**{"task": "Hopper", **overrides}))


RECORDED: dict[str, dict[str, Any]] = {
    "7f5cf5025b79": {},
    "5894a510bb5c": {"agent": "sac", "seed": 3},
    "57fc010e1f1c": {"agent": "td3", "solver": "gad", "delta": 0.0},
    "6fa2e90ea59d": {"agent": "td3", "formulation": "pr-mdp", "delta": 0.2},
    "48ac76db631a": {"solver": "extra-adam", "preset": "authors", "hidden": (8,)},
    "326b0660ceda": {"task": "toy", "agent": "vpg"},
    "80cb25fd9cee": {"task": "toy", "agent": "vpg", "delta": 0.0, "horizon": 9},
    "6ad860c0eca0": {"delta": 0.0, "evaluate_every": 7, "metrics_every": 3, "tensorboard": True},
}


@pytest.mark.parametrize("recorded", RECORDED)
def test_identifiers_of_every_agent_stay(recorded: str) -> None:
    """A change here loses runs that were made: they would be done again."""
    assert identifier(fields(**RECORDED[recorded])) == recorded


@pytest.mark.parametrize("case", CASES)
def test_a_configuration_survives_json(case: dict[str, Any]) -> None:
    config = configure(**{"task": "Hopper", **case})
    assert from_json(json.loads(json.dumps(to_json(config)))) == config


def test_old_documents_are_read() -> None:
    """Fields that came later have the values by which the old runs were made."""
    later = ("inner", "gamma_weights", "share_factors", "entropy_coefficient")
    cases: list[dict[str, Any]] = [{}, {"task": "toy", "agent": "vpg"}, {"agent": "sac"}]
    for case in cases:
        config = configure(**{"task": "Hopper", **case})
        document = {"format_version": 1, "versions": {}, **to_json(config), "new": 1}
        old = {name: value for name, value in document.items() if name not in later}
        assert from_json(old) == config
        assert identifier(old) == identifier(to_json(config))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"hidden": "wide"}, "hidden must be a list"),
        ({"steps": None}, "steps must be a whole number"),
        ({"solver": "adam"}, "solver must be one of"),
    ],
)
def test_a_damaged_document_is_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        from_json({**fields(), **document})


def test_settings_are_what_makes_the_policy() -> None:
    found = settings({**fields(), "versions": {}, "command": "rm", "machine": "m", "run": "r"})
    assert {"task", "agent", "solver", "delta", "eta", "steps", "hidden"} <= set(found)
    logged = {"metrics_every", "evaluate_every", "evaluate_masses", "evaluate_rhos"}
    assert not {"seed", "versions", "command", "run", "horizon", *logged} & set(found)
    assert not set(WITHOUT_RESULT) & set(found)
    assert WITHOUT_RESULT == ("checkpoint_every", "keep_policies", "tensorboard")
    # What is logged is part of a run, though not of its policy.
    assert identifier({**fields(), "metrics_every": 7}) != identifier(fields())
    assert settings({**fields(), "metrics_every": 7}) == settings(fields())


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"task": "Hopper-v5"},
        {"agent": None, "solver": None, "run": "mine.zip"},
        {"agent": "ppo", "solver": ["a"], "learning_rate": 3e-4},
        {"agent": ["ddpg"], "delta": "much", "hidden": None},
    ],
)
def test_foreign_documents_have_an_identity_too(document: dict[str, Any]) -> None:
    assert len(identifier(document)) == 12
    assert set(settings(document)) == set(document) - {"run"}


def test_what_is_traced_shares_a_program() -> None:
    vpg: dict[str, Any] = {"task": "toy", "agent": "vpg"}
    key = compile_key(fields(**vpg))
    assert {name for name, known in SETTINGS.items() if known.traced} == {"seed", "eta", "sigma0"}
    assert compile_key(fields(**vpg, seed=3, eta=0.1, sigma0=0.1)) == key
    assert compile_key(fields(**vpg, sigma0=0.0)) != key
    assert compile_key(fields(**vpg, horizon=7)) != key


def test_names_of_runs() -> None:
    assert run_name(fields(seed=2)) == "Hopper-v5-ddpg-mixedne-ld-delta0.1-seed2"
    sac = Config("a/b:C-v0", agent="sac", solver=None, delta=0.0, preset="authors")
    assert run_name(to_json(sac)) == "a_b_C-v0-sac-authors-seed0"
