"""Files that are damaged, or made to do harm: a sentence each, and the rest is reported."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.exceptions import PanicException

from mixedne.cli.main import main
from mixedne.errors import InvalidInputError
from mixedne.files import write_json, write_table
from mixedne.reports.inputs import files
from mixedne.reports.inputs.collect import collect
from mixedne.reports.page import write_page
from mixedne.reports.tables import Report
from probes.report import sample_report
from probes.tables import config_of, pretend_evaluated, shifts

SWEEP = shifts(mass=(0.5, 1.0))
TABLE, METRICS, CONFIG = "evaluation.parquet", "metrics.jsonl", "config.json"
Damage = Callable[[Path], object]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A run to be damaged and one that is left alone."""
    for seed, name in enumerate(("bad", "good")):
        pretend_evaluated(tmp_path / "runs" / name, SWEEP, solver="gad", seed=seed, episodes=2)
    return tmp_path / "runs"


def report_of(folder: Path) -> Report:
    """A report that can be written, whatever its sources hold."""
    report = collect([folder])
    write_page(report, folder.parent / "page.html")
    return report


def with_field(name: str, value: str) -> Damage:
    """Put a text in the place of a field of ``config.json``."""

    def damage(run: Path) -> None:
        text = json.dumps({**config_of(run), name: "@"})
        (run / CONFIG).write_text(text.replace('"@"', value))

    return damage


def as_folder(name: str) -> Damage:
    def damage(run: Path) -> None:
        (run / name).unlink()
        (run / name).mkdir()

    return damage


def with_column(name: str, value: object) -> Damage:
    def damage(run: Path) -> None:
        table = pl.read_parquet(run / TABLE)
        write_table(table.with_columns(pl.lit(value).alias(name)), run / TABLE)

    return damage


NO_TABLE = f"bad/{TABLE} is damaged or no evaluation table and is left out."
NO_CONFIG = "bad has no whole config.json and is left out."
NO_CURVE = f"bad/{METRICS} is damaged or lost: its learning curve is left out."


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (with_field("delta", "1" + "0" * 4000), NO_CONFIG),
        (with_field("seed", "1" + "0" * 30), NO_CONFIG),
        (with_field("delta", "1e999"), NO_CONFIG),
        (with_field("eta", "NaN"), NO_CONFIG),
        (with_field("eta", "[" * 100_000), NO_CONFIG),
        (with_field("task", '"\\ud800"'), NO_CONFIG),
        (with_field("sha256", '"0"'), NO_CONFIG),
        (lambda run: (run / METRICS).write_text('{"kind": "training"\n'), NO_CURVE),
        (lambda run: (run / METRICS).write_bytes(b"\xff\xfe\n"), NO_CURVE),
        (lambda run: (run / METRICS).write_text("[" * 100_000 + "\n"), NO_CURVE),
        (as_folder(METRICS), NO_CURVE),
        (as_folder(CONFIG), NO_CONFIG),
        (as_folder(TABLE), NO_TABLE),
        (lambda run: (run / TABLE).write_bytes(b""), NO_TABLE),
        (with_column("delta", "text"), NO_TABLE),
        (with_column("mass", [1.0]), NO_TABLE),
        (with_column("mass", float("inf")), f"4 rows of bad/{TABLE} name no run, task or shift."),
    ],
)
@pytest.mark.filterwarnings("ignore")  # of tables without a checksum
def test_each_is_named_and_the_rest_is_reported(runs: Path, damage: Damage, sentence: str) -> None:
    damage(runs / "bad")
    report = report_of(runs)
    assert sentence in report.missing
    assert set(report.sweeps["x"]) == {0.5, 1.0}
    assert set(report.sweeps["seeds"]) <= {1, 2}
    assert set(report.learning["seeds"]) == {2 if sentence not in (NO_CONFIG, NO_CURVE) else 1}


@pytest.mark.slow
@pytest.mark.parametrize("name", [TABLE, METRICS, CONFIG])
def test_no_damage_to_a_file_stops_a_report(runs: Path, name: str) -> None:
    whole = (runs / "bad" / name).read_bytes()
    for seed in range(25):
        draw = random.Random(seed)
        content = bytearray(whole)
        at = draw.randrange(len(content))
        if seed % 5 == 0:
            content = content[:at]
        for _ in range(seed % 5 * 3):
            content[draw.randrange(len(content))] = draw.randrange(256)
        (runs / "bad" / name).write_bytes(content)
        report = collect([runs])
        assert report.sweeps.height
        assert not any("good" in said for said in report.missing if "damaged" in said)


def test_a_panic_is_a_sentence_too(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(path: Path) -> pl.DataFrame:
        raise PanicException(f"index out of bounds in {path}")

    monkeypatch.setattr(files, "read_table", panic)
    assert NO_TABLE in report_of(runs).missing


def test_an_interruption_is_none(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(path: Path) -> pl.DataFrame:
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "read_table", interrupt)
    with pytest.raises(KeyboardInterrupt):
        collect([runs])


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_a_path_need_not_be_text(runs: Path) -> None:
    odd = runs / os.fsdecode(b"odd-\xff")
    (runs / "bad").rename(odd)
    (odd / "film.mp4").write_bytes(b"none")
    (odd / METRICS).write_bytes(b"\n\n")
    report = report_of(runs)
    assert set(report.sweeps["seeds"]) == {2}
    assert "odd-\N{REPLACEMENT CHARACTER}/metrics.jsonl is damaged" in " ".join(report.missing)
    assert collect([odd]).counts["runs"] == 1


@pytest.mark.parametrize(
    "damage",
    [
        {"theta": [[0.1, 0.2], [0.1]]},  # of two seeds
        {"seed": [7, 8], "theta": [[0.1], [0.1]], "omega": [[0.1], [0.1]]},  # not as many steps
        {"omega": [None, None]},
        {"omega": [[], []], "theta": [[], []]},
        {"omega": [[None] * 50, [0.5] * 50]},
        {"start": [None, None]},
        {"start_theta": [None, 0.0]},
        {"solver": ["other", "other"]},
        {"inner": ["hot", "hot"]},
    ],
)
def test_a_case_study_is_checked(tmp_path: Path, damage: dict[str, list[object]]) -> None:
    whole = sample_report().saddle
    assert whole is not None
    two = whole.filter(pl.col("solver") == "mixedne-ld").head(2)
    none: dict[str, list[object]] = {}
    for name, changed in (("a good one", none), ("bad", damage)):
        (tmp_path / name).mkdir()
        (tmp_path / name / CONFIG).write_text('{"kind": "saddle"}')
        columns = [
            pl.Series(column, values, two.schema[column]) for column, values in changed.items()
        ]
        two.with_columns(columns).write_parquet(tmp_path / name / "paths.parquet")
    report = report_of(tmp_path)
    said = "bad/paths.parquet is damaged or does not fit the others and is left out."
    assert report.missing == (said,)
    assert report.saddle is not None
    assert report.saddle.height == 2


def test_a_plan_names_runs_of_its_own_folder(runs: Path) -> None:
    (runs.parent / "studies").mkdir()
    config = config_of(runs / "good")
    for number, name in enumerate(("../../good", "a\0b", "", "..")):
        plan = {"runs": [{"run": name, "configuration": config, "evaluations": []}]}
        (runs.parent / "studies" / f"{number}.json").write_text(json.dumps(plan))
    (runs.parent / "studies" / "5.json").write_text('{"runs": []}')
    (runs.parent / "studies" / "5-chosen.json").write_text("[")
    assert set(report_of(runs.parent).missing) == {
        *(f"The plan {number}.json cannot be read and is left out." for number in range(4)),
        "The choices in 5-chosen.json cannot be read and are left out.",
    }


def test_nothing_left_is_an_error(runs: Path) -> None:
    (runs / "bad" / TABLE).write_bytes(b"PAR1")
    with pytest.raises(InvalidInputError, match="nothing is left to report: bad/evaluation"):
        collect([runs / "bad" / TABLE])
    (runs / "bad" / CONFIG).write_text("{")
    with pytest.raises(InvalidInputError, match=r"bad has no whole config.json and is left out$"):
        collect([runs / "bad"])


def test_the_command_says_it_in_a_sentence(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "bad" / TABLE).write_bytes(b"PAR1")
    page = runs.parent / "page.html"
    assert main(["report", str(runs / "bad" / TABLE), "--out", str(page)]) == 2
    assert capsys.readouterr().err.startswith("mixedne: nothing is left to report: bad/")
    assert not page.exists()
    assert main(["report", str(runs), "--out", str(page)]) == 0
    assert f"missing: {NO_TABLE}" in capsys.readouterr().err
    assert page.exists()


def test_a_file_of_another_kind_is_no_configuration(runs: Path) -> None:
    write_json(runs / "bad" / CONFIG, {"format_version": 1, "task": "Hopper-v5", "head": "tanh"})
    sentence = "bad has a config.json of another kind and is left out."
    assert sentence in report_of(runs).missing


def test_a_study_without_its_plan_says_so(runs: Path) -> None:
    (runs.parent / "studies").mkdir()
    sentence = "The study's plan is gone: whether runs are lacking is not known."
    assert sentence in report_of(runs.parent).missing
