"""Model cards: the hub's metadata, and numbers that are those of the table."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import mixedne
from mixedne import InvalidInputError
from mixedne.cli.main import main
from mixedne.evaluation.sweep import OtherTaskWarning
from mixedne.files import write_json
from mixedne.policies import save_policy
from mixedne.reports.card import _plain
from probes.policies import random_policy

PENDULUM = "InvertedPendulum-v5"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder, evaluated along two axes."""
    folder = tmp_path_factory.mktemp("runs") / "a|b_*c*"
    save_policy(folder, random_policy(PENDULUM))
    config = {"agent": "ddpg", "solver": "gad", "formulation": "nr-mdp", "delta": 0.1}
    config |= {"preset": "paper", "seed": 7, "steps": 1000, "command": "mixedne train \n`rm`"}
    write_json(folder / "config.json", config)
    mixedne.evaluate(
        *(folder, PENDULUM),
        mass=[0.5, 1, 2],
        noise=[0, 0.5],
        episodes=3,
        out=folder / "evaluation.parquet",
    )
    return folder


def metadata(text: str) -> Any:
    """The document at the head of a card, as a reader of YAML finds it."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    _, head, _ = text.split("---\n", 2)
    return yaml.safe_load(head)


def test_the_hub_finds_the_return_in_the_nominal_world(run: Path, tmp_path: Path) -> None:
    made = mixedne.card(run, tmp_path / "card.md")
    head = metadata(made.path.read_text())
    assert head["library_name"] == "mixedne"
    assert {"reinforcement-learning", PENDULUM, "ddpg"} <= set(head["tags"])
    (model,) = head["model-index"]
    assert model["name"] == "a|b_*c*"
    (result,) = model["results"]
    assert result["task"]["type"] == "reinforcement-learning"
    assert result["dataset"]["type"] == PENDULUM
    table = pl.read_parquet(run / "evaluation.parquet")
    nominal = table.filter((pl.col("mass") == 1) & (pl.col("noise") == 0))["return"].to_numpy()
    value = f"{nominal.mean():.1f} +/- {nominal.std():.1f}"
    assert [(m["type"], m["value"]) for m in result["metrics"]] == [("mean_reward", value)]
    assert made.mean_return == nominal.mean()


def test_the_table_is_the_evaluations(run: Path, tmp_path: Path) -> None:
    made = mixedne.card(run, tmp_path / "card.md")
    text = made.path.read_text()
    table = pl.read_parquet(run / "evaluation.parquet").filter(pl.col("noise") == 0)
    base = table.filter(pl.col("mass") == 1)["return"].to_numpy().mean()
    for mass in (0.5, 1.0, 2.0):
        found = table.filter(pl.col("mass") == mass)["return"].to_numpy()
        numbers = f"{found.mean():.1f} | {found.std():.1f} | {found.min():.1f}"
        assert f"| {mass:g} | {numbers} | {100 * found.mean() / base:.0f} % | 3 |" in text
    assert "Over all 6 worlds" in text
    assert len(made.figures) == 2
    for figure in made.figures:
        assert figure.read_bytes().startswith(b"\x89PNG")
        assert f"({figure.name})" in text


def test_names_from_files_are_text(run: Path, tmp_path: Path) -> None:
    text = mixedne.card(run, tmp_path / "card.md").path.read_text()
    assert "# a\\|b\\_\\*c\\*" in text
    assert "mixedne train ��rm�" in text


def test_a_backslash_does_not_undo_an_escape() -> None:
    assert _plain("\\<img src=x>") == "\\\\\\<img src=x\\>"


def test_the_command_writes_into_the_folder_and_overwrites_nothing(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["card", str(run), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["card"] == str(run / "README.md")
    assert main(["card", str(run)]) == 2
    assert "exists: choose another file or pass --overwrite" in capsys.readouterr().err
    assert main(["card", str(run), "--overwrite"]) == 0


def test_only_numbers_of_the_policy_that_is_there(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    save_policy(other, random_policy(PENDULUM, seed=3))
    with pytest.raises(InvalidInputError, match="a card is that of a run folder"):
        mixedne.card(other)
    (other / "config.json").write_bytes((run / "config.json").read_bytes())
    with pytest.raises(InvalidInputError, match="is not evaluated yet"):
        mixedne.card(other)
    table = other / "evaluation.parquet"
    table.write_bytes((run / "evaluation.parquet").read_bytes())
    with pytest.raises(InvalidInputError, match="is of another policy"):
        mixedne.card(other)
    mixedne.evaluate(other, mass=2, episodes=1, out=table, overwrite=True)
    with pytest.raises(InvalidInputError, match="has no evaluation in the nominal world"):
        mixedne.card(other)
    with pytest.raises(InvalidInputError, match=r"the card must end in \.md, not card\.txt"):
        mixedne.card(other, tmp_path / "card.txt")


def test_a_card_has_the_worlds_of_the_policy_s_own_task(run: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(run, tmp_path / "run"))
    table = folder / "evaluation.parquet"
    with pytest.warns(OtherTaskWarning):
        mixedne.evaluate(folder, PENDULUM[:-1] + "4", mass=[1, 4], episodes=2, out=table, join=True)
    assert set(pl.read_parquet(table)["task"]) == {PENDULUM, "InvertedPendulum-v4"}
    for name in ("alone", "both"):
        (tmp_path / name).mkdir()
    alone = mixedne.card(run, tmp_path / "alone" / "card.md")
    both = mixedne.card(folder, tmp_path / "both" / "card.md")
    assert both.mean_return == alone.mean_return
    tables = [
        [line for line in card.path.read_text().splitlines() if line.endswith("| 3 |")]
        for card in (alone, both)
    ]
    assert tables[0] == tables[1] != []
    assert len(alone.figures) == len(both.figures)
