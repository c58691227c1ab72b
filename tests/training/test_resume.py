"""Runs that are killed, interrupted, damaged and starved: they end as if nothing had happened."""

import dataclasses
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mixedne.cli.main import main
from mixedne.config import Config, configure
from mixedne.errors import InvalidInputError
from mixedne.training.checkpoints import load_checkpoint, load_checkpoints
from mixedne.training.folder import RunFolder
from mixedne.training.loop import Trainer
from mixedne.training.metrics import read_metrics
from probes.runs import (
    EXTRA_ADAM,
    LANGEVIN,
    SMALL,
    VPG,
    Laboratory,
    contents,
    kill,
    killed_run,
    limited_command,
    results,
    wait_for_lines,
)


@pytest.fixture(scope="module")
def whole(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run LANGEVIN, never interrupted."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    done = laboratory.train(*LANGEVIN, "--out", str(out))
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def broken_off(
    whole: Path, laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The run LANGEVIN, killed after its ring has gone round: two checkpoints and a replay."""
    out = tmp_path_factory.mktemp("runs") / "broken-off"
    process = laboratory.start(*LANGEVIN, "--out", str(out))
    newest, oldest = (out / "checkpoint" / f"step-{n:012d}.safetensors" for n in (250, 150))
    while not newest.exists() or oldest.exists():
        assert process.poll() is None
        time.sleep(0.002)
    assert kill(process)
    steps = [checkpoint.step for checkpoint in load_checkpoints(out / "checkpoint")]
    assert len(steps) == 2
    assert steps[1] >= 200
    assert not (out / "policy.safetensors").exists()
    return out


@pytest.fixture
def run(broken_off: Path, tmp_path: Path) -> Path:
    """A copy of it, to be mistreated."""
    return Path(shutil.copytree(broken_off, tmp_path / "run"))


def checkpoint_files(out: Path) -> list[Path]:
    """The older one first."""
    return sorted((out / "checkpoint").glob("step-*"))


def resume(laboratory: Laboratory, out: Path) -> str:
    """Go on with the run to its end; what it said."""
    done = laboratory.train(*LANGEVIN, "--out", str(out), "--resume")
    assert done.returncode == 0, done.stderr
    return done.stderr


# -- kills and interruptions ---------------------------------------------------------------------


def test_the_ring_goes_round_and_chains_grow(whole: Path) -> None:
    """What the other tests here stand on."""
    config = json.loads((whole / "config.json").read_text())
    room = 2 * (config["checkpoint_every"] + config["collect_steps"])
    assert config["replay_size"] + room < config["steps"]
    lines = read_metrics(whole)
    chains = [line["inner_steps"] for line in lines if line["kind"] == "training"]
    assert chains[0] < chains[-1] == config["inner_max"]
    assert any(line["kind"] == "evaluation" for line in lines)


def test_a_run_killed_at_random_moments_ends_the_same(
    laboratory: Laboratory, whole: Path, tmp_path: Path
) -> None:
    assert killed_run(laboratory, LANGEVIN, tmp_path / "run", kills=3, seed=0) >= 2
    assert results(tmp_path / "run") == results(whole)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [EXTRA_ADAM, VPG])
def test_so_do_td3_with_extra_adam_and_vpg(
    arguments: tuple[str, ...], laboratory: Laboratory, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    assert laboratory.train(*arguments, "--out", str(whole)).returncode == 0
    assert killed_run(laboratory, arguments, tmp_path / "run", kills=2, seed=1) >= 1
    assert results(tmp_path / "run") == results(whole)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [LANGEVIN, EXTRA_ADAM])
@pytest.mark.parametrize("seed", range(4))
def test_many_more_kills(
    arguments: tuple[str, ...], seed: int, laboratory: Laboratory, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    assert laboratory.train(*arguments, "--out", str(whole)).returncode == 0
    assert killed_run(laboratory, arguments, tmp_path / "run", kills=12, seed=seed) >= 2
    assert results(tmp_path / "run") == results(whole)


@pytest.mark.slow
def test_kills_during_the_first_seconds(
    laboratory: Laboratory, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    for number in range(20):
        process = laboratory.start(*LANGEVIN, "--out", str(out), "--resume")
        time.sleep(0.2 * number)
        kill(process)
    resume(laboratory, out)
    assert results(out) == results(whole)


def test_interruptions_save_and_say_how_to_go_on(
    laboratory: Laboratory, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    arguments = [*LANGEVIN, "--out", str(out)]
    said_to_resume = ""
    reached = 0
    for number in (signal.SIGINT, signal.SIGTERM):
        process = laboratory.start(*arguments, *(["--resume"] if reached else []))
        wait_for_lines(process, 3)
        if not reached:  # a second process may not disturb the first
            process.send_signal(signal.SIGSTOP)
            assert main(["train", *arguments, "--resume"]) == 2
            assert f"another process is training in {out}" in capsys.readouterr().err
            process.send_signal(signal.SIGCONT)
        process.send_signal(number)
        said = process.communicate()[1]
        assert process.returncode == 130
        assert "Traceback" not in said
        [line] = [line for line in said.splitlines() if line.startswith("stopped and saved")]
        assert line.count("--resume") == 1
        said_to_resume = line.removeprefix("stopped and saved; go on with: mixedne train ")
        checkpoint = load_checkpoint(out / "checkpoint")
        assert checkpoint is not None
        assert reached < checkpoint.step < 400
        reached = checkpoint.step
    done = laboratory.train(*said_to_resume.split())  # as it said
    assert done.returncode == 0, done.stderr
    assert results(out) == results(whole)


# -- damage --------------------------------------------------------------------------------------


def nothing_else(out: Path) -> None:
    """Killed, and no more."""


def damage_newest(out: Path) -> None:
    file = checkpoint_files(out)[-1]
    content = bytearray(file.read_bytes())
    content[-1] ^= 1  # in a number: only the digest can tell
    file.write_bytes(content)


def damage_both(out: Path) -> None:
    for file in checkpoint_files(out):
        file.write_bytes(file.read_bytes()[:-1])


def lose_replay(out: Path) -> None:
    (out / "checkpoint" / "replay.f32").unlink()


def cut_replay(out: Path) -> None:
    os.truncate(out / "checkpoint" / "replay.f32", 100)


def spoil_replay(out: Path) -> None:
    """A power cut may also lose rows that the system had not yet written."""
    path = out / "checkpoint" / "replay.f32"
    path.write_bytes(bytes(path.stat().st_size))


def add_garbage(out: Path) -> None:
    """Lines that a process wrote after its last checkpoint, the last one half."""
    with (out / "metrics.jsonl").open("a") as file:
        file.write('{"format_version": 1, "kind": "training", "step": 390}\nrubbish\n{"kin')


def lose_metrics(out: Path) -> None:
    """A power cut keeps the checkpoint, which was forced to the disk, but not the lines."""
    os.truncate(out / "metrics.jsonl", 100)


def leave_litter(out: Path) -> None:
    """Files whose writer was killed."""
    (out / ".policy-x1y2.safetensors").write_bytes(b"half")
    (out / ".config-x1y2.json").write_bytes(b"{")
    (out / "checkpoint" / ".step-000000000300-x1y2.safetensors").write_bytes(b"half")


@pytest.mark.parametrize(
    ("damage", "warning"),
    [
        (nothing_else, None),
        (damage_newest, "is damaged; going back to the one before"),
        (damage_both, "is damaged; going back to the one before"),
        (lose_replay, "is of no use: the replay"),
        (cut_replay, "is of no use: the replay"),
        (spoil_replay, "the replay has lost transitions"),
        (add_garbage, None),
        (lose_metrics, "metrics.jsonl has lost lines"),
        (leave_litter, None),
    ],
)
def test_damage_costs_time_but_no_bit(
    damage: Callable[[Path], None],
    warning: str | None,
    run: Path,
    laboratory: Laboratory,
    whole: Path,
) -> None:
    damage(run)
    said = resume(laboratory, run)
    warnings = [line for line in said.splitlines() if line.startswith("mixedne: ")]
    assert bool(warnings) == (warning is not None)
    assert all(warning in line for line in warnings if warning)
    assert "Traceback" not in said
    all_is_lost = damage in (damage_both, lose_replay, cut_replay, spoil_replay, lose_metrics)
    assert ("step 20 of 400" in said) == all_is_lost
    assert results(run) == results(whole)


@pytest.mark.parametrize("left", [[], ["checkpoint/lock"], ["checkpoint/lock", ".config-ab.json"]])
def test_a_start_that_was_killed_at_once_can_be_repeated(left: list[str], tmp_path: Path) -> None:
    for name in left:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    folder = RunFolder(tmp_path)
    folder.open(configure("InvertedPendulum"), resume=True)
    folder.close()
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert files == ["checkpoint", "checkpoint/lock", "config.json"]


def test_a_finished_run_stays_as_it_is(laboratory: Laboratory, whole: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    before = contents(out)
    said = resume(laboratory, out)
    assert "step " not in said
    assert contents(out) == before
    # A kill between the last checkpoint and the policies costs nothing either.
    for name in ("policy.json", "adversary.json", "adversary.safetensors"):
        (out / name).unlink()
    resume(laboratory, out)
    assert results(out) == results(whole)


# -- other things in the folder ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--gamma", "0.5"], "was started with gamma = 0.99, not 0.5"),
        (["--seed", "8"], "was started with seed = 3, not 8"),
        (["--steps", "500"], "was started with steps = 400, not 500"),
        (["--solver", "gad"], "was started with solver = 'mixedne-ld', not 'gad'"),
    ],
)
def test_a_run_goes_on_only_as_it_began(
    change: list[str], message: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(run)
    arguments = list(LANGEVIN)
    if "gad" in change:
        place = arguments.index("--inner-growth")
        del arguments[place : place + 2]
    if change[0] in arguments:
        place = arguments.index(change[0])
        del arguments[place : place + 2]
    assert main(["train", *arguments, *change, "--out", str(run), "--resume"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert message in said.err
    assert contents(run) == before


def test_a_folder_with_a_run_is_not_taken(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(run)
    assert main(["train", *LANGEVIN, "--out", str(run)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "holds a run already: choose another with --out, or go on with it by --resume" in said
    assert contents(run) == before


@pytest.mark.parametrize("resumed", [[], ["--resume"]])
@pytest.mark.parametrize(
    "names",
    [
        ["thesis.tex"],
        ["config.json"],
        ["checkpoint/other.txt"],
        ["checkpoint/lock", "checkpoint/step-000000000100.safetensors"],
        [".hidden"],
    ],
)
def test_a_folder_with_other_things_is_not_taken(
    names: list[str], resumed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    before = contents(tmp_path)
    assert main(["train", *LANGEVIN, "--out", str(tmp_path), *resumed]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "is not empty and holds no run: choose another" in said
    assert contents(tmp_path) == before


def test_a_run_of_a_later_format_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, "format_version": 2}))
    assert main(["train", *LANGEVIN, "--out", str(run), "--resume"]) == 2
    assert "has the format_version 2, not 1" in capsys.readouterr().err


def test_other_versions_are_said(run: Path) -> None:
    path = run / "config.json"
    config = json.loads(path.read_text())
    config["versions"]["jax"] = "0.0.1"
    path.write_text(json.dumps(config))
    fields = {field.name: config[field.name] for field in dataclasses.fields(Config)}
    folder = RunFolder(run)
    with pytest.warns(UserWarning, match="began with other versions of its packages"):
        folder.open(configure(**fields), resume=True)
    folder.close()


# -- numbers that are none, and full disks -------------------------------------------------------


def test_a_run_whose_rewards_are_spoilt_stops_with_a_sentence(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    task = "probes.faulty:SpoiltReward-v0"
    small = SMALL[: SMALL.index("--evaluate-masses")]  # the task has no masses
    done = laboratory.train(task, *small, "--steps", "400", "--sigma", "0.1", "--out", str(out))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("mixedne: training diverged at step 1")
    assert "the critic's loss or values are not finite" in last
    assert f"the checkpoint at step 100 is kept in {out / 'checkpoint'}" in last
    checkpoint = load_checkpoint(out / "checkpoint")
    assert checkpoint is not None
    assert checkpoint.step == 100
    assert not (out / "policy.safetensors").exists()


@pytest.mark.parametrize("wishes", [{"critic_learning_rate": 1e30}, {"eta": 3e38}])
def test_steps_that_are_far_too_large_are_a_failure_of_training(
    wishes: dict[str, float], laboratory: Laboratory, tmp_path: Path
) -> None:
    options = [
        word
        for name, value in wishes.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    done = laboratory.train(*LANGEVIN, *options, "--out", str(tmp_path / "run"))
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("mixedne: training diverged at step ")


def test_a_disk_that_fills_up_costs_nothing_that_was_saved(
    run: Path, laboratory: Laboratory, whole: Path
) -> None:
    saved = load_checkpoint(run / "checkpoint")
    assert saved is not None
    smallest = min(file.stat().st_size for file in checkpoint_files(run))
    done = laboratory.train(
        *LANGEVIN, "--out", str(run), "--resume", command=limited_command(smallest // 2)
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"mixedne: the run cannot be written to {run}: ")
    assert "File too large" in last
    assert f"the checkpoint at step {saved.step} is kept, and --resume goes on from it" in last
    kept = load_checkpoint(run / "checkpoint")  # a damaged one would warn
    assert kept is not None
    assert kept.step == saved.step
    resume(laboratory, run)
    assert results(run) == results(whole)


def test_a_disk_that_is_full_from_the_start_is_said_at_once(
    laboratory: Laboratory, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    done = laboratory.train(*LANGEVIN, "--out", str(out), command=limited_command(3000))
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"mixedne: the run cannot be written to {out}: ")
    assert last.endswith("File too large; nothing is saved yet")
    assert "step 20" not in done.stderr
    resume(laboratory, out)
    assert results(out) == results(whole)


# -- in this process -----------------------------------------------------------------------------


def test_checkpoints_far_apart_need_no_room(tmp_path: Path) -> None:
    wishes: dict[str, Any] = {"hidden": (4,), "batch_size": 2, "steps": 3000, "replay_size": 1000}
    config = configure("InvertedPendulum", **wishes, checkpoint_every=10**12)
    folder = RunFolder(tmp_path / "run")
    folder.open(config, resume=False)
    trainer = Trainer(config, folder)
    try:
        trainer.begin(resume=False)
        assert folder.replay.stat().st_size == 3000 * (4 + 1 + 1 + 1 + 1 + 1 + 4) * 4
    finally:
        trainer.close()
        folder.close()


@pytest.fixture
def empty_folder(tmp_path: Path) -> Iterator[RunFolder]:
    folder = RunFolder(tmp_path / "run")
    folder.open(configure("InvertedPendulum"), resume=False)
    yield folder
    folder.close()


def test_one_folder_is_held_by_one(empty_folder: RunFolder) -> None:
    second = RunFolder(empty_folder.path)
    with pytest.raises(InvalidInputError, match="another process is training in"):
        second.open(configure("InvertedPendulum"), resume=True)
    empty_folder.close()
    second.open(configure("InvertedPendulum"), resume=True)
    second.close()


def test_numbers_that_json_lacks_become_null(empty_folder: RunFolder) -> None:
    line: dict[str, Any] = {"kind": "evaluation", "return_mean": float("nan"), "step": 3}
    size = empty_folder.write_metrics(line, {**line, "return_mean": float("-inf")})
    text = empty_folder.metrics.read_text()
    assert len(text) == size == empty_folder.metrics_size()
    assert "NaN" not in text
    assert [line["return_mean"] for line in read_metrics(empty_folder.path)] == [None, None]
