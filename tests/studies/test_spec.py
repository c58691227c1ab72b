"""Study files: what they may say, and one sentence for what they may not."""

from collections import Counter
from pathlib import Path

import pytest

from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.studies.plan import expand
from mixedne.studies.spec import find_study, named_studies, parse_study

GOOD = 'tasks = ["Hopper-v5"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.toml: there must be at least one [[runs]] table"),
        ("[[runs]]\ntasks = [", "mine.toml is no TOML: invalid value (at end of document)"),
        (
            "x = 1",
            "mine.toml: a field must be one of about, defaults, runs, evaluations, search, not 'x'",
        ),
        ("[[runs]]", "mine.toml, [[runs]] 1: tasks are missing"),
        ("[[runs]]\ntask = ['a']", "[[runs]] 1: a field must be one of tasks, agents"),
        ("[[runs]]\nplace = 'a'", "[[runs]] 1: a field must be one of tasks, agents"),
        ("[[runs]]\ntask = ['a']", "not 'task'; did you mean 'tasks'?"),
        ("[[runs]]\ntasks = []", "mine.toml, [[runs]] 1: tasks must not be empty"),
        ("[runs]\ntasks = []", "mine.toml, [runs]: tasks must not be empty"),
        ("runs = 3", "mine.toml: runs must be tables, [[runs]]"),
        ("[[runs]]\ntasks = 'Hopper'", "[[runs]] 1: tasks must be a list, not 'Hopper'"),
        ("[[runs]]\ntasks = [1]", "[[runs]] 1: every one of tasks must be a text, not 1"),
        ("[[runs]]\ntasks = ['Hoper-v5']", "[[runs]] 1: there is no task 'Hoper-v5'; did you mean"),
        (f"[[runs]]\n{GOOD}solvers = ['gda']", "[[runs]] 1: solver must be one of mixedne-ld, gad"),
        (f"[[runs]]\n{GOOD}[[runs]]\n{GOOD}deltas = [2]", "[[runs]] 2: delta must be below 1"),
        (f"[[runs]]\n{GOOD}deltas = ['a']", "every one of deltas must be a number, not 'a'"),
        (f"[[runs]]\n{GOOD}deltas = [nan]", "[[runs]] 1: delta must be finite"),
        (f"[defaults]\nseeds = 0\n[[runs]]\n{GOOD}", "[defaults]: seeds must be at least 1, not 0"),
        (f"[[defaults]]\n[[defaults]]\n[[runs]]\n{GOOD}", "there can be only one [defaults] table"),
        ("defaults = []\n[[runs]]", "mine.toml, [[runs]] 1: tasks are missing"),
        ("[defaults]\nseeds = 1\n[[runs]]", "mine.toml, [[runs]] 1: tasks are missing"),
        (f"[[runs]]\n{GOOD}seeds = 0", "[[runs]] 1: seeds must be at least 1, not 0"),
        (f"[[runs]]\n{GOOD}seeds = true", "[[runs]] 1: seeds must be a list, not True"),
        (f"[[runs]]\n{GOOD}seeds = [-1]", "[[runs]] 1: seeds must be at least 0"),
        (f"[[runs]]\n{GOOD}seeds = [1.5]", "every one of seeds must be a whole number, not 1.5"),
        (f"[[runs]]\n{GOOD}steps = 'many'", "[[runs]] 1: steps must be a whole number, not 'many'"),
        (f"[[runs]]\n{GOOD}steps = 0", "[[runs]] 1: steps must be at least 1, not 0"),
        (f"[[runs]]\n{GOOD}overrides = 3", "[[runs]] 1: overrides must be a table, not 3"),
        (
            f"[[runs]]\n{GOOD}[runs.overrides]\ngama = 1",
            "[[runs]] 1, overrides: a field cannot be 'gama'; did you mean 'gamma'?",
        ),
        (
            f"[[runs]]\n{GOOD}[runs.overrides]\nxyz = 1",
            "[[runs]] 1, overrides: a field must be one of hidden, activation",
        ),
        (f"[[runs]]\n{GOOD}[runs.overrides]\nseed = 1", "[[runs]] 1, overrides: a field must be"),
        (f"[[runs]]\n{GOOD}[runs.overrides]\ngamma = 2", "[[runs]] 1: gamma must be at most 1"),
        (f"[[runs]]\n{GOOD}[runs.overrides]\ngamma = []", "overrides: gamma must not be empty"),
        (f"[[runs]]\n{GOOD}[runs.overrides]\ngamma = 'x'", "[[runs]] 1: gamma must be"),
        (f"[[runs]]\n{GOOD}[runs.overrides]\nhidden = 64", "[[runs]] 1: hidden must be"),
        (f"[[runs]]\n{GOOD}[runs.overrides]\neta = 2020-01-01", "[[runs]] 1: eta must be"),
        (
            f"[[runs]]\n{GOOD}solvers = ['gad']\n[runs.overrides]\nsigma0 = 1",
            "[[runs]] 1, overrides: sigma0 has an effect only with solver mixedne-ld",
        ),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nmas = [1]", "[[evaluations]] 1: a field cannot be"),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nmass = [-1]", "[[evaluations]] 1: mass must be above"),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nmass = []", "[[evaluations]] 1: mass needs at least"),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nmass = 'papr'", "[[evaluations]] 1: mass must be num"),
        (
            f"[[runs]]\n{GOOD}[[evaluations]]\n[[evaluations]]\nshifts = {{mas = [2]}}",
            "[[evaluations]] 2, shifts: a shift cannot be 'mas'; did you mean 'mass'?",
        ),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nshifts = {{mass = [-1]}}", "1, shifts: mass must be"),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nshifts = [1]", "1: shifts must be a table as {"),
        (
            f"[[runs]]\n{GOOD}[[evaluations]]\nmass = 1\nshifts = {{mass = 2}}",
            "[[evaluations]] 1: mass is twice among the shifts",
        ),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nepisodes = 0", "[[evaluations]] 1: episodes must be"),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nepisodes = '3'", "episodes must be a whole number"),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nstochastic = 1", "stochastic must be true or false"),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nrho = [0.1]", "Hopper-v5 has no axis rho"),
        (
            f"[[runs]]\n{GOOD}[[evaluations]]\nshifts = {{'mass[x]' = 2}}",
            "evaluations: body must be",
        ),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nmass = 2\nshifts.mass = 3", "mass is twice"),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nrho = true", "[[evaluations]] 1: rho must be numbers"),
        (f"[[runs]]\n{GOOD}[[evaluations]]\nmass = [1, true]", "1: mass must be numbers, not [1"),
        (f"[[runs]]\n{GOOD}[runs.overrides]\neta = true", "[[runs]] 1: eta must be"),
        (f"[[runs]]\n{GOOD}[search]\nepisodes = 3", "mine.toml, [search]: seeds are missing"),
        (f"[[runs]]\n{GOOD}[search]\nseeds = [0]", "[search] seeds must differ from those of"),
        (f"[[runs]]\n{GOOD}[search]\nseeds = [9]\nepisodes = 0", "[search]: episodes must be at"),
        (
            f"[[runs]]\n{GOOD}[[runs]]\n{GOOD}seeds = 3\n[search]\nseeds = [9]",
            "all [[runs]] of a study with a [search] must have the same seeds",
        ),
    ],
)
def test_bad_files_get_one_sentence_with_the_place(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        expand(parse_study(text.encode(), "mine", "mine.toml"))
    said = str(raised.value)
    assert said.startswith("mine.toml")
    assert message in said
    assert "\n" not in said
    assert said.count("mine.toml") == 1


def test_defaults_hold_where_a_table_says_nothing() -> None:
    text = """
        [defaults]
        tasks = ["Hopper-v5"]
        seeds = [7]
        overrides = { eta = 1e-3, gamma = 0.9 }
        [[runs]]
        [[runs]]
        tasks = ["Ant-v5"]
        overrides = { gamma = [0.8, 0.7], tau = 0.5 }
    """
    plain, other = parse_study(text.encode(), "mine", "mine.toml").runs
    assert (plain.tasks, plain.seeds) == (("Hopper-v5",), (7,))
    assert plain.overrides == (("eta", (1e-3,)), ("gamma", (0.9,)))
    assert (other.tasks, other.seeds) == (("Ant-v5",), (7,))
    assert other.overrides == (("eta", (1e-3,)), ("gamma", (0.8, 0.7)), ("tau", (0.5,)))


def test_defaults_that_a_table_has_no_use_for_are_left_out() -> None:
    text = """
        defaults.overrides.sigma = 0.1
        [[runs]]
        tasks = ["Hopper-v5"]
        [[runs]]
        tasks = ["Hopper-v5"]
        agents = ["sac"]
    """
    ddpg, sac = expand(parse_study(text.encode(), "mine", "mine.toml"))
    assert (ddpg.config.sigma, sac.config.agent) == (0.1, "sac")


def test_a_file_that_is_no_text_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInputError, match="is no TOML"):
        find_study(str(tmp_path / "binary.toml"))
    with pytest.raises(InvalidInputError, match="cannot be read: No such file"):
        find_study(str(tmp_path / "absent.toml"))
    with pytest.raises(InvalidInputError, match="did you mean 'paper-ddpg'"):
        find_study("paper-dpg")


def test_shifts_are_evaluated_under_any_axis() -> None:
    text = f"[[runs]]\n{GOOD}[[evaluations]]\nshifts = {{ mass = '0.5:2:4', noise = [0.1] }}"
    [grid] = parse_study(text.encode(), "mine", "mine.toml").evaluations
    assert grid == Grid(mass=(0.5, 1.0, 1.5, 2.0), noise=(0.1,))


def test_a_file_runs_no_code_of_a_module_unless_allowed(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('it was imported')")
    file = tmp_path / "mine.toml"
    file.write_text(f"[[runs]]\n{GOOD}[[runs]]\ntasks = ['evil:Task-v0']")
    with pytest.raises(InvalidInputError) as raised:
        find_study(str(file))
    assert str(raised.value) == (
        f"{file}, [[runs]] 2: the task 'evil:Task-v0' runs the code of a module: pass "
        "--allow-import if you trust the file"
    )
    assert find_study(str(file), allow_import=True).runs[1].tasks == ("evil:Task-v0",)


@pytest.mark.parametrize("name", ["mine-reported", "mine-chosen"])
def test_a_name_that_a_search_would_give_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.toml").write_text(f"[[runs]]\n{GOOD}")
    with pytest.raises(InvalidInputError, match="name must not end in -reported or -chosen"):
        find_study(str(tmp_path / f"{name}.toml"))


def test_every_study_that_ships_can_be_read() -> None:
    kinds = {"ddpg", "td3", "vpg"}
    searches = {f"{form}-search-{agent}" for form in ("paper", "equal") for agent in kinds}
    papers = {"paper-ddpg", "paper-ddpg-one-player", "paper-td3", "paper-vpg"}
    papers |= {"paper-sac", "paper-sac-small"}
    parts = ("", "-controls", "-one-player", "-reacher-ant", "-humanoid")
    ours = {"reproduce-td3", *(f"reproduce-ddpg{part}" for part in parts)}
    ours |= {"smoke", "quickstart", "quickstart-search", "quickstart-fresh"}
    ours |= {"quickstart-small-steps"}
    recipe = ("search", "finals", "finals-first", "results", "long", "ant", "ablation", "stability")
    ours |= {"sets-2d", *(f"recipe-{part}" for part in recipe)}
    assert set(named_studies()) == {*ours, *papers, *searches}
    for name in named_studies():
        study = find_study(name)
        assert study.about
        assert study.evaluations
        assert (study.search is not None) == (name in searches)


def test_tasks_of_a_study_restrict_it() -> None:
    """Runs that a study has on some of its tasks alone are not made on others."""
    study = find_study("reproduce-ddpg-controls")
    expected = [run for run in expand(study) if run.fields["task"] == "Hopper-v5"]
    assert len(expected) == 15
    assert expand(study.select(tasks=("Hopper",))) == expected
    with pytest.raises(InvalidInputError, match="has these tasks and solvers"):
        find_study("recipe-results").select(tasks=("Ant-v5",), solvers=("gad",))


def test_a_selection_replaces_tasks_that_are_not_the_studys_and_restricts_the_rest() -> None:
    study = find_study("equal-search-ddpg").select(
        tasks=("Hopper-v4",), solvers=("gad",), seeds=2, steps=10
    )
    [block] = study.runs  # MixedNE-LD's own table is gone
    assert (block.tasks, block.solvers) == (("Hopper-v4",), ("gad",))
    assert (block.seeds, block.steps) == ((0, 1), 10)
    assert study.search is not None
    assert study.search.seeds == (1000, 1001, 1002)  # what is chosen does not depend on it
    with pytest.raises(InvalidInputError, match="an agent of the study smoke must be one of"):
        find_study("smoke").select(agents=("vpg",))
    with pytest.raises(InvalidInputError, match="seeds must be at least 1, not 0"):
        find_study("smoke").select(seeds=0)
    with pytest.raises(InvalidInputError, match="must differ"):
        find_study("equal-search-ddpg").select(seeds=1001)
    with pytest.raises(InvalidInputError, match="tasks must not be empty"):
        find_study("smoke").select(tasks=())


@pytest.mark.parametrize("seeds", [1, 5])
def test_a_selection_has_as_many_seeds_of_every_method(seeds: int) -> None:
    """Some methods of this study have two tables, with other seeds in each."""
    found = expand(find_study("recipe-results").select(seeds=seeds))
    counted = Counter(run.configuration for run in found)
    assert set(counted.values()) == {seeds}


def test_a_search_can_be_restricted_to_a_solver_that_uses_little_of_it() -> None:
    found = expand(find_study("paper-search-ddpg").select(solvers=("gad",)))
    assert {run.fields["solver"] for run in found} == {"gad"}
