"""From studies to runs: each once, with identifiers that stay."""

import dataclasses
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from mixedne.config import Config, configure, presets
from mixedne.config.identity import identifier, to_json
from mixedne.errors import InvalidInputError
from mixedne.names import SOLVERS
from mixedne.shifts import Axis
from mixedne.studies.plan import PlannedRun, expand, group_runs
from mixedne.studies.spec import find_study, named_studies, parse_study
from mixedne.training.run import check_compatible
from mixedne.training.updates import inner_steps


def fields(**wishes: Any) -> dict[str, Any]:
    return to_json(configure("Hopper", **wishes))


def test_identifiers_stay() -> None:
    """A change here loses every run that was ever made: they would all be done again."""
    assert identifier(fields()) == "7f5cf5025b79"
    assert identifier(fields(agent="sac", seed=3)) == "5894a510bb5c"


def test_identifiers_know_what_changes_a_result_and_only_that() -> None:
    same: list[dict[str, Any]] = [
        {"tensorboard": True},
        {"checkpoint_every": 7},
        {"sigma0": 1e-3},
    ]
    other: list[dict[str, Any]] = [
        {"seed": 1},
        {"steps": 7},
        {"eta": 1.0},
        {"hidden": (8,)},
        {"delta": 0.0},
    ]
    assert all(identifier(fields(**wish)) == identifier(fields()) for wish in same)
    assert len({identifier(fields(**wish)) for wish in [{}, *other]}) == len(other) + 1
    gad = fields(solver="gad")
    assert identifier({**gad, "sigma0": 7.0}) == identifier(gad)  # without effect
    # What a later version adds, at the value of its default, leaves them as they are.
    assert identifier({**fields(), "versions": {"jax": "9"}, "new": 1}) == identifier(fields())


def test_a_run_keeps_everything_on_its_way_elsewhere() -> None:
    for run in expand(find_study("smoke")):
        assert PlannedRun.from_json(run.to_json()) == run
    config = configure("Hopper", hidden=(8, 9), seed=4)
    assert PlannedRun(to_json(config)).config == config


def test_every_combination_once() -> None:
    runs = expand(
        parse_study(
            b"""
        [[runs]]
        tasks = ["Hopper-v5", "Hopper"]
        agents = ["td3", "sac"]
        solvers = ["mixedne-ld", "gad"]
        formulations = ["nr-mdp", "pr-mdp"]
        deltas = [0.1, 0.0]
        seeds = [3, 4, 3]
        [runs.overrides]
        sigma0 = [1e-2, 1e-3]
        sigma = [0.1, 0.2]
        hidden = [[8], [8, 8]]
        """,
            "mine",
            "mine.toml",
        )
    )
    # Per seed: MixedNE-LD at 2 formulations and δ = 0: 3 × 2 × 2 × 2; GAD 3 × 2 × 2; SAC 2.
    assert len(runs) == 2 * (24 + 12 + 2)
    assert len({run.identifier for run in runs}) == len(runs)
    assert len({run.name for run in runs}) == len(runs)
    assert [run.fields["seed"] for run in runs] == [3] * 38 + [4] * 38
    assert all(run.name.endswith(f"-{run.identifier}") for run in runs)
    expected = configure("Hopper", agent="td3", solver="gad", sigma=0.2, hidden=(8,), seed=3)
    assert expected in [run.config for run in runs]


def test_games_have_no_delta_but_may_have_no_adversary() -> None:
    runs = expand(
        parse_study(
            b"""
        [[runs]]
        tasks = ["Hopper-v5"]
        formulations = ["nr-mdp", "rarl", "parameters"]
        deltas = [0.1, 0.2, 0.0]
        [runs.overrides]
        force = [1.0, 5.0]
        parameters = [["mass=0.5:2"], ["mass=0.5:2", "gravity=0.5:2"]]
        """,
            "mine",
            "mine.toml",
        )
    )
    found = [(run.config.formulation, run.config.delta, run.config.force) for run in runs]
    assert sorted(found, key=str) == [
        *(("nr-mdp", delta, None) for delta in (0.0, 0.1, 0.2)),
        *[("parameters", None, None)] * 2,
        *(("rarl", None, force) for force in (1.0, 5.0)),
    ]
    assert len({run.identifier for run in runs}) == len(runs)


def test_without_an_adversary_what_is_its_own_is_left_out() -> None:
    """One run with one player, whatever is tried with two."""
    text = b"""
        [[runs]]
        tasks = ["Hopper-v5"]
        deltas = [0.1, 0.0]
        [runs.overrides]
        inner = ["frozen", "coupled"]
        inner_growth = [1e-5, 1.0]
        alone_episodes = 0.5
        """
    runs = expand(parse_study(text, "mine", "mine.toml"))
    assert [run.fields["delta"] for run in runs].count(0.0) == 1
    assert len(runs) == 5
    alone: dict[str, Any] = {"inner": "coupled", "alone_episodes": 0.5, "inner_growth": 1.0}
    for name, value in alone.items():
        with pytest.raises(InvalidInputError, match=f"{name} has an effect only with an"):
            configure("Hopper", delta=0.0, **{name: value})
    configure("Hopper", delta=0.0, inner_growth=1.0, inner_max=2)


def test_a_game_is_not_turned_into_plain_training() -> None:
    text = b"""
        [[runs]]
        tasks = ["Hopper-v5"]
        formulations = ["m2td3"]
        deltas = [0.0]
        overrides = { parameters = [["mass=0.5:2"]] }
        """
    with pytest.raises(InvalidInputError, match="m2td3 has an adversary, and with deltas = 0"):
        expand(parse_study(text, "mine", "mine.toml"))


def test_the_papers_studies_have_the_papers_values() -> None:
    assert len(expand(find_study("paper-vpg"))) == 30
    counts = {"paper-ddpg": 120, "paper-ddpg-one-player": 120, "paper-td3": 360, "paper-sac": 40}
    for name, count in counts.items():
        runs = expand(find_study(name))
        assert len(runs) == count
        for run in runs:
            config = run.config
            task = config.task.removesuffix("-v5")
            values = presets.table_values(config.agent, task, config.delta, str(config.solver))
            assert (values is None) == (config.agent == "sac")
            for key, value in (values or {}).items():
                assert key == "inner_steps" or getattr(config, key) == value
            assert config.steps == 500_000
        masses = {shift.number("mass") for grid in runs[0].evaluations for shift in grid.shifts()}
        assert len(masses) == 21


def test_a_set_is_a_grid_of_its_own_in_each_task() -> None:
    runs = expand(
        parse_study(
            b"""
        [[runs]]
        tasks = ["Hopper-v5", "HalfCheetah"]
        [[evaluations]]
        set = "rrls-2d"
        points = 3
        noise = [0, 0.1]
        episodes = 5
        """,
            "mine",
            "mine.toml",
        )
    )
    hopper, cheetah = (run.evaluations[0] for run in runs)
    assert [str(axis) for axis, _ in cheetah.axes] == [
        *("mass[torso]:abs", "sliding-friction:abs", "noise"),
    ]
    assert (hopper.size, cheetah.size, hopper.episodes) == (18, 18, 5)
    assert dict(hopper.axes)[Axis.parse("mass[torso]:abs")] == (
        0.1,
        *np.arange(0.1, 3, 2.9 / 3)[1:],
    )
    again = PlannedRun.from_json(json.loads(json.dumps(runs[0].to_json())))
    assert again.evaluations == runs[0].evaluations


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("set = 'rrls-9d'", "evaluations: a set without .toml must be one of"),
        ("set = 'rrls-2d'", "evaluations: the set rrls-2d has no task Reacher-v5"),
        ("set = 'mine.toml'", "evaluations: mine.toml cannot be read"),
        ("points = 3", r"evaluations\]\] 1: points and ends are of a set: set is missing"),
    ],
)
def test_sets_that_a_task_has_not(lines: str, message: str) -> None:
    text = f"[[runs]]\ntasks = ['Reacher-v5']\n[[evaluations]]\n{lines}"
    with pytest.raises(InvalidInputError, match=message):
        expand(parse_study(text.encode(), "mine", "mine.toml"))


def test_evaluations_that_are_too_large_are_refused_before_training() -> None:
    lines = "evaluations = [{ mass = '0.5:2:100', friction = '0.5:2:100', noise = '0:1:21' }]"
    study = parse_study(f"{lines}\n[[runs]]\ntasks = ['Hopper-v5']".encode(), "large", "large.toml")
    with pytest.raises(InvalidInputError, match="number of a run's episodes must be at most 2000"):
        expand(study)


def test_the_study_of_sets_has_every_method_alike() -> None:
    runs = expand(find_study("sets-2d"))
    assert len(runs) == 60  # 4 tasks, 5 methods, 3 seeds
    kinds = Counter(
        (c.solver, c.formulation, c.delta, c.randomise, c.parameters)
        for c in (run.config for run in runs)
    )
    assert kinds == {
        ("gad", "nr-mdp", 0.0, None, None): 12,
        ("gad", "nr-mdp", 0.0, ("rrls-2d",), None): 12,
        ("gad", "m2td3", None, None, ("rrls-2d",)): 12,
        ("mixedne-ld", "m2td3", None, None, ("rrls-2d",)): 12,
        ("mixedne-ld", "nr-mdp", 0.1, None, None): 12,
    }
    for run in runs:
        config = run.config
        assert (config.agent, config.steps, config.hidden) == ("td3", 300_000, (64, 64))
        assert config.normalise_observations
        assert config.critic_layer_norm
        # One gradient step a step of the task, whatever the length of the chains.
        chain = inner_steps(config, np.array([1, 1000]))
        assert (chain * config.updates == config.collect_steps).all()
        assert [(grid.size, grid.episodes) for grid in run.evaluations] == [(100, 5), (1, 10)]
    shared = ("activation", "sigma", "target_noise", "eta", "learning_rate_decay", "output")
    assert len({tuple(getattr(run.config, name) for name in shared) for run in runs}) == 1


def gradient_steps(config: Config) -> float:
    """Minibatches per step of the task once the chains have grown."""
    [chain] = inner_steps(config, np.array([1000]))
    return float(chain * config.updates / config.collect_steps)


def test_the_recipe_is_compared_at_equal_gradient_steps_and_parts() -> None:
    runs = [run.config for run in expand(find_study("recipe-results"))]
    seeds = Counter((c.task, c.solver, c.delta) for c in runs)
    three, five = ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5"), "InvertedPendulum-v5"
    for task in three:
        assert seeds[task, "mixedne-ld", 0.1] == 5
        assert seeds[task, "gad", 0.1] == seeds[task, "gad", 0.0] == 3
    assert seeds[five, "mixedne-ld", 0.1] == 5
    assert len({c.task for c in runs}) == 8
    by_chains = {"inner_growth", "inner_max", "updates", "beta"}
    for config in runs:
        assert (config.steps, config.preset) == (300_000, "robust")
        assert gradient_steps(config) == 2
        plain = configure(config.task, agent="td3", preset="robust", delta=0.1, solver="mixedne-ld")
        own = {"seed", "solver", "delta", "evaluate_every", "evaluate_masses"}
        changed = {name for name, x in vars(config).items() if x != getattr(plain, name)}
        assert changed <= own | by_chains
        assert config.solver == "gad" or not changed & by_chains


def test_the_ablation_changes_one_thing_and_keeps_the_gradient_steps() -> None:
    runs = [run.config for run in expand(find_study("recipe-ablation"))]
    plain = configure("Hopper-v5", agent="td3", preset="robust", delta=0.1, steps=100_000)
    own = {"task", "seed", "evaluate_every", "evaluate_masses"}
    kinds = Counter(
        frozenset(name for name, x in vars(c).items() if x != getattr(plain, name)) - own
        for c in runs
    )
    assert kinds.pop(frozenset({"inner_max", "updates"})) == 12  # K = 1 and K = 5
    assert kinds.pop(frozenset({"critic_optimizer", "critic_weight_decay"})) == 6
    assert set(kinds.values()) == {6}  # two tasks, three seeds
    assert {len(changed) for changed in kinds} == {0, 1}
    for config in runs:
        halved = config.updates == plain.updates / 2
        assert gradient_steps(config) == (1 if halved else 2)


def test_small_sac_has_the_size_of_td3() -> None:
    usual, small = (expand(find_study(name)) for name in ("paper-sac", "paper-sac-small"))
    td3 = expand(find_study("paper-td3"))[0].fields
    size = ("hidden", "activation", "batch_size")
    for one, other in zip(usual, small, strict=True):
        assert {name: other.fields[name] for name in size} == {name: td3[name] for name in size}
        assert {**other.fields, **{name: one.fields[name] for name in size}} == one.fields
        assert other.evaluations == one.evaluations
        assert other.identifier != one.identifier


@pytest.mark.parametrize(("agent", "deltas", "size"), [("ddpg", 2, 24), ("td3", 3, 12)])
def test_the_searches(agent: str, deltas: int, size: int) -> None:
    grids = presets.GRIDS[agent]
    by_solver: dict[str, dict[str, int]] = {}
    for form in ("paper", "equal"):
        study = find_study(f"{form}-search-{agent}")
        assert all(len(block.tasks) == 8 for block in study.runs)
        runs = expand(study.select(tasks=("Hopper-v5",)))
        seeds = {run.fields["seed"] for run in runs}
        assert not seeds & set(range(5))
        counts = {s: sum(r.fields["solver"] == s for r in runs) for s in SOLVERS}
        by_solver[form] = {s: n // (deltas * len(seeds)) for s, n in counts.items()}
        assert {run.fields["sigma"] for run in runs} == set(grids["sigma"])
        sampled = [run for run in runs if run.fields["solver"] == "mixedne-ld"]
        assert {run.fields["sigma0"] for run in sampled} == set(grids["sigma0"])
        assert all(len(run.evaluations) == 1 for run in runs)
        assert all(len(run.evaluations[0].shifts()) == 1 for run in runs)
    few = len(grids["sigma"])
    assert by_solver["paper"] == {"mixedne-ld": size, "gad": few, "extra-adam": few}
    assert by_solver["equal"] == dict.fromkeys(SOLVERS, size)


def test_vpgs_searches() -> None:
    counts = {}
    for form in ("paper", "equal"):
        runs = expand(find_study(f"{form}-search-vpg"))
        counts[form] = {s: sum(r.fields["solver"] == s for r in runs) for s in SOLVERS}
    # Two δ and three seeds of each.
    assert counts["paper"] == dict.fromkeys(SOLVERS, 6 * len(presets.GRIDS["vpg"]["eta"]))
    assert counts["equal"] == dict.fromkeys(SOLVERS, 6 * 24)


@pytest.mark.parametrize("name", named_studies())
def test_every_study_that_ships_expands(name: str) -> None:
    study = find_study(name)
    assert expand(study.select(seeds=1, tasks=study.runs[0].tasks[:1]))


def vpg(**other: Any) -> PlannedRun:
    return PlannedRun(to_json(configure("toy", agent="vpg", **other)))


def test_vpg_runs_that_differ_in_little_make_one_job() -> None:
    seeds = [vpg(seed=seed, eta=eta) for seed in range(5) for eta in (0.1, 0.2)]
    other = [vpg(seed=seed, inner_steps=10) for seed in range(2)]
    plain = [PlannedRun(fields(seed=seed)) for seed in range(2)]
    found = group_runs([plain[0], *seeds, *other, plain[1]])
    assert [len(job) for job in found] == [1, 8, 2, 2, 1]
    assert found[1] + found[2] == seeds
    assert found[3] == other
    apart = [dataclasses.replace(run, evaluations=()) for run in seeds[:2]]
    assert len(group_runs(apart)) == 1


def test_jobs_are_what_a_program_takes() -> None:
    """Without heat the program is another one, and so it is with other settings."""
    wishes: list[dict[str, Any]] = [{"sigma0": 0.0}, {"sigma0": 0.1}, {"eta": 0.1}, {"delta": 0.2}]
    found = group_runs([vpg(seed=seed, **wish) for wish in wishes for seed in (0, 1)])
    assert [len(job) for job in found] == [2, 4, 2]
    for job in found:
        check_compatible([run.config for run in job])
