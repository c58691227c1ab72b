"""Configurations: every preset builds, the tables decide, and what makes no sense is refused."""

import dataclasses
import re
import shlex
import typing
from types import UnionType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedne import InvalidInputError
from mixedne.cli.parse import parse
from mixedne.cli.train import Train
from mixedne.config import (
    FALLBACK,
    SETTINGS,
    Config,
    configure,
    is_in_tables,
    learning_gap,
    presets,
    unused_fields,
)
from mixedne.config.identity import command
from mixedne.names import ACTIVATIONS, AGENTS, FORMULATIONS, SOLVERS
from mixedne.tasks.registry import PAPER_TASKS

PENDULUM = "InvertedPendulum-v5"
PUBLISHED = ("paper", "authors")


@pytest.mark.parametrize("preset", PUBLISHED)
@pytest.mark.parametrize("agent", ["ddpg", "td3"])
def test_every_shipped_preset_builds(agent: str, preset: str) -> None:
    built = 0
    for delta, table in presets.EXPLORATION[agent].items():
        assert set(table) == set(PAPER_TASKS)
        for task in PAPER_TASKS:
            for solver in SOLVERS:
                config = configure(task, agent=agent, solver=solver, delta=delta, preset=preset)
                assert config.task == f"{task}-v5"
                assert (config.agent, config.solver) == (agent, solver)
                assert (config.delta, config.preset) == (delta, preset)
                assert is_in_tables(config)
                printed = presets.table_values(agent, task, delta, solver)
                assert printed is not None
                assert config.sigma == printed["sigma"]
                if solver == "mixedne-ld":
                    assert config.sigma0 == printed["sigma0"]
                one_player = (config.inner_max, config.beta) == (1, 1.0)
                assert one_player == (delta == 0)
                built += 1
    assert built == 8 * 3 * (2 if agent == "ddpg" else 3)


@pytest.mark.parametrize("preset", PUBLISHED)
def test_vpg_has_the_values_of_its_tables(preset: str) -> None:
    """(σ0, η, N_k) of MixedNE-LD, η of GAD and of Extra-Adam, from the paper."""
    printed = {
        0.1: {"mixedne-ld": (1e-5, 1e-3, 1), "gad": 1e-4, "extra-adam": 1e-4},
        0.0: {"mixedne-ld": (1e-4, 1e-4, 10), "gad": 1e-4, "extra-adam": 1e-3},
    }
    for delta, solvers in printed.items():
        for solver, values in solvers.items():
            config = configure("toy", agent="vpg", solver=solver, delta=delta, preset=preset)
            assert is_in_tables(config)
            found: Any = config.eta
            if solver == "mixedne-ld":
                found = (config.sigma0, config.eta, config.inner_steps)
            assert found == values
            assert (config.steps, config.horizon, config.trajectories) == (5000, 500, 1)
            assert (config.gamma, config.beta, config.rms_decay) == (0.99, 0.9, 0.99)
            assert (config.inner, config.activation) == ("coupled", "relu")
            assert not config.normalise_returns
            options: Any = (config.hidden, config.clip_gradient)
            options += (config.gamma_weights, config.share_factors)
            literal, theirs = ((16, 16), None, True, True), ((16,), 40.0, False, False)
            assert options == (theirs if preset == "authors" else literal)
    outside = configure("toy", agent="vpg", delta=0.3)
    assert not is_in_tables(outside)
    assert (outside.sigma0, outside.eta, outside.inner_steps) == (1e-3, 1e-4, 1)


@pytest.mark.parametrize("preset", PUBLISHED)
def test_sac_builds_for_every_task(preset: str) -> None:
    for task in PAPER_TASKS:
        config = configure(task, agent="sac", preset=preset)
        assert (config.solver, config.delta) == (None, 0.0)
        assert (config.hidden, config.activation) == ((256, 256), "relu")
        assert (config.eta, config.critic_learning_rate) == (3e-4, 3e-4)
        assert (config.batch_size, config.critics, config.policy_delay) == (256, 2, 1)
        assert config.target_entropy is None  # minus the number of actions
        fixed = 0.05 if task == "Humanoid" else 0.2
        assert config.entropy_coefficient == (fixed if preset == "authors" else None)
    learned = configure(PENDULUM, agent="sac", preset="authors", entropy_coefficient=None)
    assert learned.entropy_coefficient is None
    assert configure(PENDULUM, agent="sac", hidden=(64, 64)).hidden == (64, 64)


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        (
            {"agent": "ddpg"},
            {
                **{"collect_steps": 100, "updates": 50, "random_steps": 0, "steps": 500_000},
                **{"hidden": (64, 64), "activation": "tanh", "batch_size": 128, "tau": 0.999},
                **{"critics": 1, "policy_delay": 1, "target_noise": 0.0, "gamma": 0.99},
                **{"critic_learning_rate": 1e-3, "eta": 1e-4, "replay_size": 1_000_000},
                **{"rms_decay": 0.999, "rms_epsilon": 1e-8, "thermal_decay": 5e-5},
                **{"inner_growth": 1e-5, "inner_max": 15, "beta": 0.9},
                **{"normalise_observations": False, "critic_layer_norm": False},
                **{"critic_weight_decay": 0.0, "sigma0": 1e-3, "sigma": 0.2},
            },
        ),
        (
            {"agent": "ddpg", "preset": "authors"},
            {
                **{"normalise_observations": True, "critic_layer_norm": True},
                **{"critic_weight_decay": 1e-2, "hidden": (64, 64), "collect_steps": 100},
            },
        ),
        (
            {"agent": "td3"},
            {
                **{"collect_steps": 50, "updates": 50, "random_steps": 10_000},
                **{"update_after": 1_000, "policy_delay": 2, "critics": 2, "tau": 0.995},
                **{"hidden": (64, 64), "activation": "tanh", "batch_size": 128},
                **{"critic_learning_rate": 3e-4, "steps": 500_000},
                **{"sigma0": 1e-4, "sigma": 0.01, "target_noise": 0.01, "target_noise_clip": 0.5},
            },
        ),
        (
            {"agent": "td3", "preset": "authors"},
            {
                **{"hidden": (256, 256), "activation": "relu", "batch_size": 256},
                **{"steps": 1_000_000, "random_steps": 25_000, "sigma": 0.01},
                **{"update_after": 25_000, "collect_steps": 50, "updates": 50},
                **{"target_noise": 0.2, "target_noise_clip": 0.5},
            },
        ),
    ],
)
def test_values_of_the_presets_for_hopper(
    choices: dict[str, Any], expected: dict[str, Any]
) -> None:
    config = configure("Hopper-v5", **choices)
    assert {name: getattr(config, name) for name in expected} == expected


def test_the_preset_robust_makes_as_many_gradient_steps_with_every_solver() -> None:
    """And its target networks move at one pace. Extra-Adam's look-ahead is not counted."""
    steps, paces = set(), set()
    for solver in SOLVERS:
        for delta in (0.0, 0.1, 0.25):
            config = configure("Hopper", preset="robust", solver=solver, delta=delta)
            assert config.agent == "td3"
            assert is_in_tables(config)  # no note that a table lacks this δ
            has_chains = solver == "mixedne-ld" and delta > 0
            inner = config.inner_max if has_chains else 1
            assert inner >= (2 if has_chains else 1)
            steps.add(config.updates * inner / config.collect_steps)
            # Targets follow the inner iterates: they move once per step of the players.
            moves = config.updates * inner / config.policy_delay / config.collect_steps
            paces.add(round(moves * (1 - config.tau), 6))
    assert len(steps) == len(paces) == 1


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("formulation", ["pr-mdp", "rarl", "parameters", "m2td3"])
def test_the_preset_robust_has_chains_in_every_game(formulation: str, solver: str) -> None:
    """Where MixedNE-LD has an adversary, also where the game has no δ."""
    bounds: dict[str, Any] = {}
    if formulation in ("parameters", "m2td3"):
        bounds = {"parameters": "mass[torso]=0.5:2"}
    config = configure("Hopper", preset="robust", solver=solver, formulation=formulation, **bounds)
    usual = configure("Hopper", preset="robust", solver=solver)
    by_chains = ("inner_growth", "inner_max", "updates", "tau", "beta")
    assert all(getattr(config, name) == getattr(usual, name) for name in by_chains)


def test_the_preset_robust_differs_from_its_common_values_on_two_tasks() -> None:
    common = dataclasses.asdict(configure("Hopper", preset="robust"))
    for task in (*PAPER_TASKS, "Pendulum-v1"):
        own = dataclasses.asdict(configure(task, preset="robust"))
        differing = {name for name, value in own.items() if value != common[name]} - {"task"}
        ant = {"eta", "critic_learning_rate", "random_steps", "update_after"}
        expected = {"Swimmer": {"gamma"}, "Ant": ant | {"normalise_observations"}}
        assert differing == expected.get(task, set())
    assert configure("Swimmer", preset="robust").gamma == 0.9999


def test_a_version_does_not_change_the_tables() -> None:
    old, new = (configure(f"Hopper-{version}", agent="td3") for version in ("v4", "v5"))
    assert dataclasses.replace(old, task=new.task) == new


@pytest.mark.parametrize(
    ("task", "choices"),
    [
        ("Pendulum-v1", {}),
        ("HalfCheetah-v5", {"delta": 0.3}),
        ("HalfCheetah-v5", {"delta": 0.2, "agent": "ddpg"}),
        ("toy", {"agent": "td3"}),
    ],
)
def test_outside_the_tables_there_is_a_fallback(task: str, choices: dict[str, Any]) -> None:
    config = configure(task, **choices)
    assert not is_in_tables(config)
    assert (config.sigma0, config.sigma) == (1e-3, 0.1)
    assert FALLBACK[config.agent] == {"sigma0": 1e-3, "sigma": 0.1}
    if config.agent == "td3":
        assert config.target_noise == 0.1


def test_defaults_that_follow_from_other_fields_follow_from_overrides() -> None:
    """Algorithms 5 and 6 print one σ, for exploration and for the target actions."""
    td3: dict[str, Any] = {"task": "Hopper-v5", "agent": "td3", "delta": 0.1}
    assert configure(**td3).target_noise == configure(**td3).sigma == 0.01
    assert configure(**td3, sigma=0.1).target_noise == 0.1
    assert configure(**td3, sigma=0.1, target_noise=0.01).target_noise == 0.01
    assert configure(**td3, preset="authors", sigma=0.1).target_noise == 0.2
    assert configure("Hopper-v5", sigma=0.3).target_noise == 0.0  # DDPG smooths nothing
    one_player = configure("Hopper-v5", delta=0.0, beta=0.5)
    assert (one_player.inner_max, one_player.beta) == (1, 0.5)
    assert configure("toy", agent="vpg", delta=0.0).beta == 0.9
    assert configure("toy", agent="vpg", inner="frozen").inner == "frozen"


def test_overrides_are_applied_and_nothing_else_changes() -> None:
    plain = configure(PENDULUM)
    changed = configure(PENDULUM, hidden=[8, 8], sigma=1, steps=1e3, evaluate_masses=[1], seed=5)
    changes: dict[str, Any] = {
        "hidden": (8, 8),
        "sigma": 1.0,
        "steps": 1000,
        "evaluate_masses": (1.0,),
        "seed": 5,
    }
    assert changed == dataclasses.replace(plain, **changes)
    assert isinstance(changed.sigma, float)
    assert isinstance(changed.steps, int)
    assert isinstance(changed.evaluate_masses[0], float)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"agent": "dpg"}, r"agent must be one of ddpg, td3, sac, .*did you mean 'ddpg'"),
        ({"agent": "vpg"}, "vpg plays in tasks that are written in JAX, such as toy, not in Inv"),
        ({"evaluate_rhos": []}, "evaluate_rhos must be at least one value"),
        ({"evaluate_rhos": [0.1]}, "evaluate_rhos has an effect only in a task that has rho"),
        (
            {"task": "toy", "evaluate_masses": [2.0]},
            "evaluate_masses has an effect only in a task that has mass",
        ),
        ({"solver": "mixedne"}, "solver must be one of .*did you mean 'mixedne-ld'"),
        ({"preset": "robust", "agent": "ddpg"}, "the preset robust is for td3, not for ddpg"),
        ({"preset": "author"}, "preset must be one of .*did you mean 'authors'"),
        ({"formulation": "nrmdp"}, "formulation must be one of .*did you mean 'nr-mdp'"),
        ({"formulation": "rarl", "delta": 0.1}, "delta has an effect only with formulation nr-mdp"),
        ({"formulation": "rarl", "agent": "sac"}, "sac takes no rarl: that needs ddpg or td3"),
        ({"formulation": "rarl", "rate": 0.1}, "rate has an effect only with formulation param"),
        ({"formulation": "rarl", "task": "Reacher"}, "rarl needs bodies and force for Reacher-v5"),
        ({"force": 5}, "force has an effect only with formulation rarl"),
        ({"formulation": "parameters"}, "the formulation parameters needs parameters"),
        ({"formulation": "m2td3"}, "the formulation m2td3 needs parameters"),
        ({"formulation": "m2td3", "agent": "sac"}, "sac takes no m2td3: that needs ddpg or td3"),
        ({"parameter_noise": 0.1}, "parameter_noise has an effect only with formulation m2td3"),
        (
            {"formulation": "m2td3", "parameters": "rrls-1d", "randomise": "rrls-1d"},
            "randomise takes no adversary: so not m2td3",
        ),
        ({"randomise": "rrls-2d"}, "randomise takes no adversary: delta must be 0, not 0.1"),
        ({"formulation": "rarl", "randomise": "rrls-2d"}, "no adversary: so not rarl"),
        ({"delta": 0, "randomise": "rrls-9d"}, "randomise must be given as .* not 'rrls-9d'"),
        ({"delta": 0, "randomise": "rrls-3d"}, "the set rrls-3d has no task InvertedPendulum-v5"),
        ({"delta": 0, "randomise": "no.toml"}, "no.toml cannot be read"),
        (
            {"task": "toy", "agent": "vpg", "delta": 0, "randomise": "rrls-2d"},
            "randomise has an effect only with agent ddpg, td3 or sac",
        ),
        ({"activation": "rely"}, "activation must be one of .*did you mean 'relu'"),
        ({"rms_bias_correction": True, "rms_decay": 1.0}, "rms_decay must be below 1"),
        ({"critic_optimizer": "sgd"}, "critic_optimizer must be one of adam, adamw"),
        ({"task": "Hoper-v5"}, "there is no task 'Hoper-v5'; did you mean Hopper-v5"),
        ({"gama": 0.9}, "there is no field of the configuration 'gama'; did you mean 'gamma'"),
        ({"qqq": 0.9}, "there is no field of the configuration 'qqq'; there are task, agent, "),
        ({"delta": 1.0}, "delta must be below 1, not 1.0"),
        ({"delta": -0.1}, "delta must be at least 0, not -0.1"),
        ({"delta": float("nan")}, "delta must be finite"),
        ({"agent": "sac", "solver": "gad"}, "sac takes no solver, so not 'gad'"),
        ({"agent": "sac", "delta": 0.1}, "sac has no adversary: delta must be 0, not 0.1"),
        ({"hidden": []}, "hidden must be at least one value"),
        ({"hidden": [8, 0]}, r"hidden must be at least 1, not \(8, 0\)"),
        ({"evaluate_masses": []}, "evaluate_masses must be at least one value"),
        ({"seed": 2**32}, "seed must be at most 4294967295"),
        ({"steps": 10**400}, "steps is too large"),
        ({"gamma": 10**400}, "gamma is too large"),
    ],
)
def test_what_does_not_exist_is_refused(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        configure(**{"task": PENDULUM, **overrides})


@pytest.mark.parametrize(
    ("choices", "field", "needed"),
    [
        ({"solver": "gad"}, {"sigma0": 0.1}, "solver mixedne-ld"),
        ({"solver": "gad"}, {"inner_max": 3}, "solver mixedne-ld"),
        ({"solver": "extra-adam"}, {"beta": 0.5}, "solver mixedne-ld"),
        ({"solver": "extra-adam"}, {"rms_decay": 0.5}, "solver mixedne-ld or gad"),
        ({"agent": "sac"}, {"sigma": 0.3}, "agent ddpg or td3"),
        ({"agent": "sac"}, {"rms_epsilon": 0.3}, "solver mixedne-ld or gad"),
        ({"agent": "td3"}, {"target_entropy": -1.0}, "agent sac"),
        ({"agent": "ddpg"}, {"initial_temperature": 0.1}, "agent sac"),
        ({"agent": "td3"}, {"entropy_coefficient": 0.1}, "agent sac"),
        ({"agent": "sac"}, {"clip_gradient": 1.0}, "agent vpg"),
        ({"agent": "ddpg"}, {"gamma_weights": False}, "agent vpg"),
        ({"agent": "ddpg"}, {"inner_steps": 3}, "agent vpg"),
        ({"agent": "vpg"}, {"sigma": 0.3}, "agent ddpg or td3"),
        ({"agent": "vpg"}, {"inner_max": 3}, "agent ddpg or td3"),
        ({"agent": "vpg"}, {"batch_size": 3}, "agent ddpg, td3 or sac"),
        ({"agent": "vpg"}, {"normalise_observations": True}, "agent ddpg, td3 or sac"),
        ({"agent": "vpg", "solver": "gad"}, {"inner_steps": 3}, "solver mixedne-ld"),
    ],
)
def test_settings_without_effect_are_refused(
    choices: dict[str, Any], field: dict[str, Any], needed: str
) -> None:
    vpg = "vpg" in (choices.get("agent"), needed.removeprefix("agent "))
    task = "toy" if vpg else PENDULUM
    with pytest.raises(
        InvalidInputError, match=f"{next(iter(field))} has an effect only with {needed}$"
    ):
        configure(task, **choices, **field)
    if needed.startswith("agent"):
        agent = needed.removeprefix("agent ").split(",")[0].split(" ")[0]
    else:
        agent = "vpg" if vpg else "ddpg"
    configure(task, agent=agent, **field)


OPTIONAL = (
    *("target_entropy", "entropy_coefficient", "clip_gradient", "critic_hidden"),
    *("bodies", "axes", "force", "parameters", "rate", "randomise"),
)

WRONG_TYPES: dict[type, list[Any]] = {
    bool: [1, "yes", None],
    int: [1.5, "3", None, True, [3], float("inf"), float("nan")],
    float: ["0.1", None, True, [0.5], 1j],
    str: [1, None, True],
    tuple: [8, "8", None, ["a"], [None], [[8]], [True]],
}


def kind_of(field: str) -> Any:
    """Its type, apart from None."""
    hint = typing.get_type_hints(Config)[field]
    kind = typing.get_args(hint)[0] if isinstance(hint, UnionType) else hint
    return typing.get_origin(kind) or kind


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Config)])
def test_values_of_another_type_are_refused(field: str) -> None:
    agent = "sac" if SETTINGS[field].agents == ("sac",) else "ddpg"
    for value in WRONG_TYPES[kind_of(field)]:
        if value is None and field in (*OPTIONAL, "agent", "solver", "formulation", "delta"):
            continue  # none given
        with pytest.raises(InvalidInputError, match=field):
            configure(**{"task": PENDULUM, "agent": agent, field: value})


LISTS = ("evaluate_masses", "evaluate_rhos", "critic_hidden")
SHARES = (
    *("gamma", "tau", "rms_decay", "thermal_decay", "evaluate_rhos", "learning_rate_decay"),
    "alone_episodes",
)
POSITIVE = (
    *("eta", "critic_learning_rate", "initial_temperature", "beta", "evaluate_masses"),
    *("clip_gradient", "entropy_coefficient", "force", "parameter_learning_rate"),
)
NOT_NEGATIVE = (
    *("critic_weight_decay", "rms_epsilon", "sigma0", "inner_growth", "sigma"),
    *("target_noise", "target_noise_clip", "parameter_noise"),
)
COUNTS = (
    *("steps", "batch_size", "replay_size", "inner_max", "collect_steps", "updates"),
    *("policy_delay", "metrics_every", "evaluate_episodes", "checkpoint_every", "critics"),
    *("inner_steps", "horizon", "trajectories", "critic_hidden", "parameter_vectors"),
)
COUNTS_FROM_0 = ("random_steps", "update_after", "evaluate_every", "keep_policies", "seed")

NOT_FINITE = st.sampled_from([float("nan"), float("inf"), float("-inf")])
BELOW_0 = st.floats(max_value=-1e-300, allow_infinity=False)
ABOVE_1 = st.floats(min_value=1.0, exclude_min=True, allow_infinity=False)

BAD_NUMBERS = {
    **dict.fromkeys(SHARES, NOT_FINITE | BELOW_0 | ABOVE_1),
    **dict.fromkeys(POSITIVE, NOT_FINITE | BELOW_0 | st.just(0.0)),
    **dict.fromkeys(NOT_NEGATIVE, NOT_FINITE | BELOW_0),
    **dict.fromkeys(COUNTS, st.integers(max_value=0)),
    **dict.fromkeys(COUNTS_FROM_0, st.integers(max_value=-1)),
    "average_decay": NOT_FINITE | BELOW_0 | st.sampled_from([0.0, 1.0]) | ABOVE_1,
    "target_entropy": NOT_FINITE,
    "rate": NOT_FINITE | BELOW_0 | st.just(0.0) | ABOVE_1,
    "delta": NOT_FINITE | BELOW_0 | st.just(1.0) | ABOVE_1,
}


def test_every_number_has_bad_values() -> None:
    numbers = {
        field.name for field in dataclasses.fields(Config) if kind_of(field.name) in (int, float)
    }
    assert numbers | {*LISTS} == set(BAD_NUMBERS)


@given(st.sampled_from(sorted(BAD_NUMBERS)), st.data())
def test_any_single_bad_number_is_refused_by_name(field: str, data: st.DataObject) -> None:
    value: Any = data.draw(BAD_NUMBERS[field])
    agent = "sac" if SETTINGS[field].agents == ("sac",) else "ddpg"
    wrong: Any = [1.0, value] if field in LISTS else value
    overrides: dict[str, Any] = {"agent": agent, field: wrong}
    with pytest.raises(InvalidInputError, match=rf"^{field} (must be|is too large)"):
        configure(PENDULUM, **overrides)


@pytest.mark.parametrize(
    "overrides",
    [
        {"seed": 3},
        {"agent": "sac", "steps": 10, "target_entropy": -2.0},
        {"preset": "authors", "hidden": (8, 8), "normalise_observations": False},
        {"agent": "td3", "solver": "gad", "delta": 0.2, "formulation": "pr-mdp", "sigma": 0.3},
        {"formulation": "rarl", "axes": "z", "force": 2.5},
        {"formulation": "parameters", "parameters": ("mass[torso]:abs=1:9", "gravity=1:2")},
        {"delta": 0, "critic_layer_norm": True},
        {"delta": 0, "randomise": "rrls-2d"},
        {"formulation": "m2td3", "parameters": "rrls-2d", "parameter_vectors": 3},
        {"delta": 0, "randomise": ["mass[torso]:abs=1", "gravity=1:2"]},
        {"agent": "td3", "sigma": 0.3, "target_noise": 0.01},
        {"agent": "sac", "preset": "authors", "entropy_coefficient": None},
        {"inner": "coupled", "steps": 1000},
        {"critic_hidden": (32, 16), "critic_optimizer": "adamw", "critic_weight_decay": 0.01},
    ],
)
def test_the_command_makes_the_same_run(overrides: dict[str, Any]) -> None:
    config = configure("Hopper", **overrides)
    words = shlex.split(command(config))
    assert words[0] == "mixedne"
    typed = parse(words[1:])
    assert isinstance(typed, Train)
    assert typed.config == config


def test_the_command_names_no_field_that_follows_from_others() -> None:
    config = configure("Hopper", agent="td3", sigma=0.3)
    assert command(config).endswith("--steps 500000 --seed 0 --sigma 0.3")


def test_what_is_known_of_the_fields_is_complete() -> None:
    for name, known in SETTINGS.items():
        assert known.help.endswith("."), name
        assert set(known.agents) <= set(AGENTS)
        assert set(known.solvers) <= set(SOLVERS)
    assert {name for name, known in SETTINGS.items() if known.derive} == {
        *("inner_max", "beta", "inner", "target_noise"),
    }
    for agent in AGENTS:
        for solver in (None,) if agent == "sac" else SOLVERS:
            unused = unused_fields(agent, solver)
            assert not {"task", "seed", "hidden", "eta", "gamma"} & set(unused)
            assert ("sigma0" in unused) == (solver != "mixedne-ld")


def test_names_stand_for_what_there_is() -> None:
    from mixedne import policies
    from mixedne.agents import networks
    from mixedne.games import make_game
    from mixedne.tasks import resolve_task

    assert tuple(policies.FUNCTIONS) == tuple(networks.FUNCTIONS) == ACTIVATIONS
    for name in FORMULATIONS.keys() - {"pettingzoo"}:  # which needs a task of its own
        settings = {"delta": 0.1, "bodies": "torso", "force": 1.0, "parameters": ("mass=1:2",)}
        assert make_game(resolve_task("Hopper"), name, **settings).name == name


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"agent": "td3", "steps": 3000}, "most of the run acts at random: 3000 of its 3000 steps"),
        ({"agent": "td3", "steps": 19_999}, "most of the run acts at random: 10000 of its 19999"),
        ({"agent": "td3", "steps": 1000}, "learns nothing: it has 1000 steps, .* after 1000"),
        ({"agent": "sac", "steps": 100}, "learns nothing"),
        ({"steps": 128}, "learns nothing"),
        ({"steps": 129}, None),
        ({"agent": "td3", "steps": 20_000}, None),
        ({"agent": "td3"}, None),
        ({"task": "toy", "agent": "vpg", "steps": 1}, None),
    ],
)
def test_a_preset_that_is_longer_than_the_run_is_noticed(
    overrides: dict[str, Any], message: str | None
) -> None:
    found = learning_gap(configure(**{"task": PENDULUM, **overrides}))
    assert found is None if message is None else re.search(message, str(found))
