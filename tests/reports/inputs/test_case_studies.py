"""Folders of the case study in a report."""

import json
from pathlib import Path

import numpy as np
import pytest

from mixedne.cli.main import main
from mixedne.reports.inputs.collect import collect
from mixedne.saddle import tables
from mixedne.saddle.objectives import OBJECTIVES, Moments, plan_cases


def test_case_studies_with_other_settings_stand_apart(tmp_path: Path) -> None:
    objective = OBJECTIVES["x2y2-xy"]
    (case,) = plan_cases([objective], ["gad"], ["far"])
    for settings, place in (("paper", 0.5), ("authors", 0.7), (None, 0.9)):
        path = np.full((1, 3), place)
        run = tables.Run(case, objective, np.array([0]), path, path, Moments.of_samples(path, path))
        folder = tmp_path / str(settings)
        folder.mkdir()
        tables.paths([run], 1).write_parquet(folder / "paths.parquet")
        config = {"kind": "saddle"} | ({"settings": settings} if settings else {})
        (folder / "config.json").write_text(json.dumps(config))
    saddle = collect([tmp_path / "paper", tmp_path / "authors"]).saddle
    assert saddle is not None
    assert saddle["start"].to_list() == ["far", "far (authors' settings)"]
    assert [theta[0] for theta in saddle["theta"]] == pytest.approx([0.5, 0.7])
    # A folder from before the settings had a name has the paper's: the first of the two counts.
    saddle = collect([tmp_path / "None", tmp_path / "paper"]).saddle
    assert saddle is not None
    assert [theta[0] for theta in saddle["theta"]] == pytest.approx([0.9])


def test_seeds_add_up_only_where_the_settings_are_the_same(tmp_path: Path) -> None:
    game = ("--objective", "x2y2-xy", "--steps", "5", "--seeds", "1")
    studies = {
        "first": (),
        "more": ("--first-seed", "1"),
        "coupled": ("--inner", "coupled"),
        "smaller": ("--learning-rate", "0.05", "--first-seed", "2"),
    }
    for name, options in studies.items():
        assert main(["saddle", *game, *options, "--out", str(tmp_path / name)]) == 0
    report = collect([tmp_path / name for name in studies])
    assert report.saddle is not None
    found = report.saddle.filter(solver="mixedne-ld").select("inner", "seed").rows()
    assert found == [("frozen", 0), ("frozen", 1), ("coupled", 0)]
    [problem] = report.missing
    assert problem.startswith("smaller/paths.parquet has cases of an earlier case study")
    assert collect([tmp_path / "first", tmp_path / "more"]).missing == ()
