"""Folders of the case study in a report."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mixedne.reports.inputs.collect import collect
from mixedne.saddle import tables
from mixedne.saddle.objectives import OBJECTIVES, Moments, plan_cases


def case_study(folder: Path, place: float = 0.5, *, seed: int = 0, **config: Any) -> Path:
    """A folder of the case study with one run of GAD, which stands still."""
    objective = OBJECTIVES["x2y2-xy"]
    (case,) = plan_cases([objective], ["gad"], ["far"])
    path = np.full((1, 3), place)
    run = tables.Run(case, objective, np.array([seed]), path, path, Moments.of_samples(path, path))
    folder.mkdir()
    tables.paths([run], 1).write_parquet(folder / "paths.parquet")
    (folder / "config.json").write_text(json.dumps({"kind": "saddle", **config}))
    return folder


def cases(learning_rate: float, inner: str = "frozen") -> list[dict[str, Any]]:
    settings = {"learning_rate": learning_rate, "inner": inner}
    return [{"objectives": ["x2y2-xy"], "start": "far", "solver": "gad", "settings": settings}]


def test_case_studies_with_other_settings_stand_apart(tmp_path: Path) -> None:
    paper = case_study(tmp_path / "paper", 0.5, settings="paper")
    authors = case_study(tmp_path / "authors", 0.7, settings="authors")
    saddle = collect([paper, authors]).saddle
    assert saddle is not None
    assert saddle["start"].to_list() == ["far", "far (authors' settings)"]
    assert [theta[0] for theta in saddle["theta"]] == pytest.approx([0.5, 0.7])
    # A folder from before the settings had a name has the paper's: the first of the two counts.
    saddle = collect([case_study(tmp_path / "unnamed", 0.9), paper]).saddle
    assert saddle is not None
    assert [theta[0] for theta in saddle["theta"]] == pytest.approx([0.9])


def test_seeds_add_up_only_where_the_settings_are_the_same(tmp_path: Path) -> None:
    first = case_study(tmp_path / "first", seed=0, cases=cases(0.1))
    more = case_study(tmp_path / "more", seed=1, cases=cases(0.1, "coupled"))
    smaller = case_study(tmp_path / "smaller", seed=2, cases=cases(0.05))
    report = collect([first, more, smaller])
    assert report.saddle is not None
    assert report.saddle["seed"].to_list() == [0, 1]
    [problem] = report.missing
    assert problem.startswith("smaller/paths.parquet has cases of an earlier case study")
    assert collect([first, more]).missing == ()
    # Under other names they do not meet.
    authors = case_study(tmp_path / "authors", settings="authors", cases=cases(0.05))
    assert collect([first, authors]).missing == ()
