"""``mixedne watch`` as a user meets it."""

import json
import signal
import subprocess
from pathlib import Path

import polars as pl
import pytest

from mixedne.cli.main import main
from mixedne.policies import save_policy
from mixedne.video.captions import read_caption
from probes.commands import COMMAND
from probes.pictures import decode, skip_without_gl
from probes.policies import random_policy

PENDULUM = "InvertedPendulum-v5"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "pendulum"
    save_policy(folder, random_policy(PENDULUM))
    return folder


def test_json_keeps_its_contract(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skip_without_gl()
    out = tmp_path / "video.mp4"
    shift = ["--mass", "1.5", "--noise", "0.1"]
    video = ["watch", str(run), *shift, "--episode", "1", "--size", "200x100", "--out", str(out)]
    assert main([*video, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["task"] == PENDULUM
    assert said["run"] == "pendulum"
    assert said["shift"] == "mass × 1.5, action noise 0.1"
    assert said["file"] == str(out)
    assert said["frames"] == said["length"] + 1
    assert main(["evaluate", str(run), *shift, "--episodes", "2"]) == 0
    table = pl.read_parquet(run / "evaluation.parquet")
    assert (said["return"], said["length"]) == table.select("return", "length").row(1)
    assert decode(out).pictures.shape == (said["frames"], 100, 200, 3)
    caption = read_caption(out)
    assert caption is not None
    assert caption["return"] == said["return"]
    assert caption["shifts"] == {"mass": 1.5, "noise": 0.1}
    assert {path.name for path in tmp_path.iterdir()} == {"pendulum", "video.mp4"}

    # Nothing is overwritten unless asked.
    before = out.stat().st_mtime_ns
    capsys.readouterr()
    assert main(video) == 2
    assert "exists: choose another file or pass --overwrite" in capsys.readouterr().err
    assert out.stat().st_mtime_ns == before
    assert main([*video, "--overwrite"]) == 0
    assert out.stat().st_mtime_ns != before
    assert "nominal" not in capsys.readouterr().out


def test_what_changes_nothing_is_said(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skip_without_gl()
    out = str(tmp_path / "video.mp4")
    arguments = ["--friction", "0.5", "--size", "100x100", "--seconds", "0.1", "--out", out]
    assert main(["watch", str(run), *arguments]) == 0
    said = capsys.readouterr()
    assert f"mixedne: friction changes nothing in {PENDULUM}" in said.err
    assert said.out.startswith(f"{PENDULUM}, friction × 0.5: return ")
    assert f"The video is {out}" in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--out", "a.mp4"], "there is no policy at nowhere"),
        (["RUN"], "--out"),
        (["RUN", "--out", "a.avi"], "the video must end in .mp4 or .webp or .gif, not a.avi"),
        (["RUN", "--out", "no/such/a.mp4"], "there is no folder"),
        (["RUN", "--out", "a.mp4", "--mass", "0"], "mass must be above 0, not 0.0"),
        (["RUN", "--out", "a.mp4", "--mass", "much"], "mass must be numbers"),
        (["RUN", "--out", "a.mp4", "--size", "big"], "size must be WIDTHxHEIGHT"),
        (["RUN", "--out", "a.mp4", "--size", "99x99"], "size must be even numbers, not 99x99"),
        (["RUN", "--out", "a.mp4", "--body-mass", "pole"], "must be NAME=NUMBERS, not 'pole'"),
        (["RUN", "--out", "a.mp4", "--camera", "track"], "has no camera 'track'"),
        (["RUN", "--out", "a.mp4", "--task", "toy"], "but toy has 1 and 1"),
    ],
)
def test_bad_input_gets_one_sentence(
    arguments: list[str],
    message: str,
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["watch", *(str(run) if x == "RUN" else x for x in arguments)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("mixedne: ")
    assert message in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["pendulum"]


@pytest.mark.usefixtures("heeded_ctrl_c")
def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    skip_without_gl()
    save_policy(tmp_path / "cheetah", random_policy("HalfCheetah-v5"))
    with subprocess.Popen(
        [*COMMAND, "watch", "cheetah", "--size", "64x64", "--out", "a.mp4"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("Video a.mp4: 1 of")
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["cheetah"]
