"""The quickstart, with runs too short to learn anything."""

import json
from pathlib import Path

import polars as pl
import pytest

from mixedne.reports.inputs.collect import collect
from probes.commands import mixedne

TINY = ("--steps", "300", "--seeds", "1")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quickstart") / "out"
    done = mixedne("quickstart", *TINY, "--out", str(folder))
    assert done.returncode == 0, done.stderr
    assert "MixedNE-LD, one player" in done.stdout
    assert "mass × 4" in done.stdout
    assert f"The report is {folder / 'report.html'}" in done.stderr
    return folder


def test_trains_all_kinds_and_sweeps_the_mass(out: Path) -> None:
    kinds = ("mixedne-ld", "gad", "extra-adam", "one-player")
    for kind in kinds:
        run = out / "runs" / f"{kind}-seed0"
        config = json.loads((run / "config.json").read_text())
        assert config["delta"] == (0.0 if kind == "one-player" else 0.1)
        assert config["steps"] == 300
        assert (run / "adversary.safetensors").exists() == (kind != "one-player")
    table = pl.read_parquet(out / "results.parquet")
    assert table["run"].n_unique() == len(kinds)
    assert table["mass"].unique().sort().to_list() == [0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0]
    assert (out / "mass.png").read_bytes().startswith(b"\x89PNG")
    report = collect([out])
    assert report.counts == {"runs": 4, "tasks": 1, "episodes": 4 * 8 * 10}
    at_one = report.sweeps.filter(x=1.0, statistic="mean", solver="gad")["value"].to_list()
    ours = table.filter(pl.col("run").str.starts_with("gad"), mass=1.0)["return"].mean()
    assert at_one == [pytest.approx(ours)]


def test_goes_on_with_its_own_folder_only(out: Path, tmp_path: Path) -> None:
    policy = out / "runs" / "gad-seed0" / "policy.safetensors"
    before = policy.stat().st_mtime_ns
    assert mixedne("quickstart", *TINY, "--out", str(out)).returncode == 0
    assert policy.stat().st_mtime_ns == before  # what was trained is not trained again
    (tmp_path / "mine.txt").write_text("mine")
    for arguments in ((*TINY, "--out", str(tmp_path)), ("--seeds", "2", "--out", str(out))):
        refused = mixedne("quickstart", *arguments)
        assert refused.returncode == 2
        assert "choose another" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_run_that_fails_is_said_in_one_sentence(tmp_path: Path) -> None:
    # A file stands where the runs' folder has to be.
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "quickstart.json").write_text('{"format_version": 1, "seeds": 1, "steps": 300}')
    (folder / "runs").write_text("in the way")
    failed = mixedne("quickstart", *TINY, "--out", str(folder))
    assert failed.returncode == 1
    assert "a run failed" in failed.stderr
    assert "Traceback" not in failed.stderr
