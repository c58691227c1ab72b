"""The examples run and are as short as promised."""

import importlib.util
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import mixedne
from mixedne import optimizers, solvers
from probes.pictures import skip_without_gl

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


def test_your_own_game(capsys: pytest.CaptureFixture[str]) -> None:
    path = EXAMPLES / "own_game.py"
    assert len(path.read_text().splitlines()) <= 25
    found = runpy.run_path(str(path))
    for players, close in ((found["sampled"], 0.05), (found["found"], 0.001)):
        assert abs(float(players.agent)) < close
        assert abs(float(players.adversary)) < close
    assert "MixedNE-LD on" in capsys.readouterr().out


def test_the_readmes_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    [training] = [block for block in blocks if "mixedne.train(" in block]
    [solving] = [block for block in blocks if "solvers.solve" in block]
    found: dict[str, Any] = {}
    steps = "steps=20_000"
    assert steps in training
    exec(training.replace(steps, "steps=300, random_steps=100, update_after=200"), found)
    assert found["table"]["mass"].unique().sort().to_list() == [0.5, 1.0, 2.0]
    assert (tmp_path / found["run"].path / "policy.safetensors").is_file()
    exec(solving, found)
    assert abs(float(found["state"].players.agent)) < 0.05


def test_the_tables_of_solver_limits() -> None:
    limits = runpy.run_path(str(EXAMPLES / "solver_limits.py"))
    game = solvers.payoff_oracle(limits["GAMES"]["θω"])
    gad = solvers.gad(game, optimizers.descend(0.1))
    assert limits["radii"](gad, 100)[-1] == pytest.approx(2**0.5 * 1.01**50, rel=1e-3)
    assert limits["langevin_bias"](0.3, 0.9, chains=20_000) == pytest.approx(0.36, abs=0.05)


def test_a_logger_sees_every_number_once_and_can_stop_the_run(tmp_path: Path) -> None:
    made = runpy.run_path(str(EXAMPLES / "wandb_callback.py"))["logging_to"]
    logged: list[tuple[str, int]] = []
    settings: dict[str, Any] = {"solver": "gad", "delta": 0, "hidden": (4,), "batch_size": 4}
    run = mixedne.train(
        "InvertedPendulum-v5",
        **{**settings, "metrics_every": 100, "evaluate_every": 100, "steps": 300},
        evaluate_masses=(1.0, 2.0),
        callback=made(lambda values, step: logged.extend((name, step) for name in values), 1),
        out=tmp_path / "run",
    )
    assert ("training/critic_loss", 100) not in logged  # there was no update yet
    assert ("evaluation/mass=2/return_mean", 100) in logged
    assert len(set(logged)) == len(logged)
    assert {step for _, step in logged} == {100}  # any policy returns more than 1
    assert run.evaluate(episodes=1)["steps"].to_list() == [100]


def test_the_logger_says_what_it_needs() -> None:
    if importlib.util.find_spec("wandb") is not None:
        pytest.skip("wandb is installed: the example would log in")
    with pytest.raises(SystemExit, match="needs Weights & Biases, which is not installed"):
        runpy.run_path(str(EXAMPLES / "wandb_callback.py"), run_name="__main__")


TOUR = EXAMPLES / "tour.ipynb"


def kinds(notebook: Any) -> list[list[set[str]]]:
    """What every cell of code gives, by the kinds of its outputs."""
    return [
        [set(output.get("data", ["stream"])) for output in cell["outputs"]]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def test_the_tour_is_kept_with_small_outputs_that_name_no_machine() -> None:
    text = TOUR.read_text("utf-8")
    assert len(text) < 300_000
    found = kinds(json.loads(text))
    assert sum(map(len, found)) == len(found) - 1  # the imports alone give nothing
    assert not re.search(r"/(home|root|tmp|usr|work|Users|var)/", text)


@pytest.mark.slow
def test_the_tour_runs_and_gives_what_it_shows(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat")
    skip_without_gl()
    kept = nbformat.read(TOUR, as_version=4)
    shown = kinds(kept)
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(kept, timeout=900, kernel_name="python3", resources=place).execute()
    assert kinds(kept) == shown
