"""The study of uncertainty sets, made tiny: from its file to its table in the report."""

import dataclasses
from pathlib import Path

import pytest

from mixedne.evaluation.grids import Grid
from mixedne.reports.inputs.collect import collect
from mixedne.studies.jobs import run_job
from mixedne.studies.plan import expand
from mixedne.studies.spec import SetGrid, find_study

TINY = {
    **{"hidden": (8,), "batch_size": 8, "collect_steps": 20, "updates": 4, "random_steps": 20},
    **{"update_after": 30, "evaluate_every": 0},
}


@pytest.mark.slow
def test_every_method_is_trained_evaluated_and_reported(tmp_path: Path) -> None:
    study = find_study("sets-2d").select(tasks=("InvertedPendulum-v5",), seeds=1, steps=60)
    tiny = tuple((name, (value,)) for name, value in TINY.items())
    blocks = tuple(
        dataclasses.replace(block, overrides=block.overrides + tiny) for block in study.runs
    )
    evaluation = SetGrid("rrls-2d", points=2, others=Grid(episodes=1))
    runs = expand(dataclasses.replace(study, runs=blocks, evaluations=(evaluation,)))
    assert len(runs) == 5
    for run in runs:
        run_job([run], [tmp_path / run.name], lambda *progress: None)
    scores = collect([tmp_path]).sets
    own = scores.filter(scores["source"].is_null())
    assert own.select("set", "points", "seeds").unique().rows() == [("rrls-2d", 4, 1)]
    assert {*own["method"]} == {
        "TD3, GAD, δ = 0",
        "TD3, GAD, domain randomisation (rrls-2d), δ = 0",
        "TD3, GAD, M2TD3",
        "TD3, MixedNE-LD, M2TD3",
        "TD3, MixedNE-LD, δ = 0.1",
    }
    assert "M2TD3" in scores["method"].to_list()  # published
