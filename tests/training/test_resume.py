"""Runs that are killed, interrupted, damaged and starved: they end as if nothing had happened.

What needs no process of its own happens in this one: a run that is left by an exception leaves the
same files as one that was killed between two cycles.
"""

import dataclasses
import errno
import fcntl
import json
import os
import shutil
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from mixedne.cli.main import main
from mixedne.cli.parse import parse
from mixedne.config import Config, configure
from mixedne.errors import InvalidInputError
from mixedne.evaluation.runs import KEPT, kept_name, kept_steps
from mixedne.evaluation.sweep import evaluate
from mixedne.files import read_json, write_json
from mixedne.metrics import read_metrics
from mixedne.studies.jobs import is_being_trained
from mixedne.training import collection
from mixedne.training.checkpoints import load_checkpoints
from mixedne.training.folder import RunFolder
from mixedne.training.metrics import MetricsWriter
from mixedne.training.run import Status, train_config
from mixedne.training.training_run import TrainingRun
from mixedne.training.updates import make_updater
from probes.policies import random_policy
from probes.runs import (
    EXTRA_ADAM,
    LANGEVIN,
    VPG,
    Laboratory,
    config_of,
    contents,
    kill,
    killed_run,
    limited_command,
    results,
)


class KilledError(Exception):
    """In place of SIGKILL, where the process lives on."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run LANGEVIN, never interrupted."""
    return train_config(config_of(LANGEVIN), out=tmp_path_factory.mktemp("runs") / "whole").path


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run LANGEVIN, left after its ring has wrapped round: two checkpoints and a replay."""
    out = tmp_path_factory.mktemp("runs") / "broken-off"

    def leave(status: Status) -> None:
        if status.step == 330:
            raise KilledError

    with pytest.raises(KilledError):
        train_config(config_of(LANGEVIN), out=out, watch=leave)
    assert [checkpoint.step for checkpoint in load_checkpoints(out / "checkpoint")] == [300, 250]
    return out


@pytest.fixture
def run(broken_off: Path, tmp_path: Path) -> Path:
    """A copy of it, to be mistreated."""
    return Path(shutil.copytree(broken_off, tmp_path / "run"))


def checkpoint_files(out: Path) -> list[Path]:
    """The older one first."""
    return sorted((out / "checkpoint").glob("step-*"))


def resume(out: Path) -> tuple[list[int], list[str]]:
    """Continue the run to its end: the steps at which it was seen, and what it warned of."""
    steps: list[int] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        train_config(
            config_of(LANGEVIN), out=out, resume=True, watch=lambda seen: steps.append(seen.step)
        )
    return steps, [str(warning.message) for warning in caught]


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
    kept = {"best/best.json", "policies/step-000000000350/policy.json"}
    assert kept | {"policies/step-000000000400/adversary.safetensors"} < {*results(whole)}
    assert [path.name[-3:] for path in sorted((whole / "policies").iterdir())] == ["350", "400"]


def killed_ends_as_whole(
    laboratory: Laboratory, arguments: tuple[str, ...], folder: Path, kills: int, seed: int
) -> int:
    done = laboratory.train(*arguments, "--out", str(folder / "whole"))
    assert done.returncode == 0, done.stderr
    landed = killed_run(laboratory, arguments, folder / "run", kills=kills, seed=seed)
    assert results(folder / "run") == results(folder / "whole")
    return landed


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_the_same(
    laboratory: Laboratory, whole: Path, tmp_path: Path
) -> None:
    assert killed_run(laboratory, LANGEVIN, tmp_path / "run", kills=2, seed=0) >= 1
    assert results(tmp_path / "run") == results(whole)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [EXTRA_ADAM, (*EXTRA_ADAM, "--formulation", "rarl"), VPG])
def test_so_do_td3_with_extra_adam_and_vpg(
    arguments: tuple[str, ...], laboratory: Laboratory, tmp_path: Path
) -> None:
    assert killed_ends_as_whole(laboratory, arguments, tmp_path, kills=2, seed=1) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [LANGEVIN, EXTRA_ADAM])
@pytest.mark.parametrize("seed", range(4))
def test_many_more_kills(
    arguments: tuple[str, ...], seed: int, laboratory: Laboratory, tmp_path: Path
) -> None:
    assert killed_ends_as_whole(laboratory, arguments, tmp_path, kills=12, seed=seed) >= 2


@pytest.mark.slow
def test_kills_during_the_first_seconds(laboratory: Laboratory, tmp_path: Path) -> None:
    out, whole = tmp_path / "run", tmp_path / "whole"
    for number in range(20):
        process = laboratory.start(*LANGEVIN, "--out", str(out), "--resume")
        time.sleep(0.2 * number)
        kill(process)
    for folder in (out, whole):
        done = laboratory.train(*LANGEVIN, "--out", str(folder), "--resume")
        assert done.returncode == 0, done.stderr
    assert results(out) == results(whole)


def test_a_killed_run_can_be_evaluated(broken_off: Path) -> None:
    """It was left at step 330, and evaluated itself at 200."""
    found = [evaluate(broken_off, at=at, episodes=1) for at in ("last", "best", 250, 300)]
    assert [table["steps"].item() for table in found] == [300, 200, 250, 300]
    assert found[0]["return"].equals(found[3]["return"])


def test_interruptions_save_and_say_how_to_go_on(
    whole: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "run"
    signals = {80: signal.SIGINT, 240: signal.SIGTERM}
    log = TrainingRun.log

    def log_and_interrupt(run: TrainingRun) -> None:
        log(run)
        if run.step in signals:
            with pytest.raises(InvalidInputError, match=f"another process is training in {out}"):
                RunFolder(out).open(run.config, resume=True)
            os.kill(os.getpid(), signals[run.step])

    monkeypatch.setattr(TrainingRun, "log", log_and_interrupt)
    arguments = ["train", *LANGEVIN, "--out", str(out)]
    for reached in signals:
        monkeypatch.setattr("sys.argv", ["mixedne", *arguments])
        with pytest.raises(KeyboardInterrupt, match="saved"):
            parse(arguments).run()
        said = capsys.readouterr().err
        [line] = [line for line in said.splitlines() if line.startswith("stopped and saved")]
        assert line.count("--resume") == 1
        arguments = line.removeprefix("stopped and saved; go on with: mixedne ").split()
        assert next(load_checkpoints(out / "checkpoint")).step == reached
    assert main(arguments) == 0  # as it said
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


def flip_old_row(out: Path) -> None:
    """One number of a transition that was collected before either checkpoint."""
    path = out / "checkpoint" / "replay.f32"
    content = bytearray(path.read_bytes())
    content[200 * len(content) // 250] ^= 4  # transition 200 in a ring of 250
    path.write_bytes(content)


def alter_metrics(out: Path) -> None:
    """A digit of the first line becomes another."""
    path = out / "metrics.jsonl"
    path.write_text(path.read_text().replace('"step": 40,', '"step": 41,', 1))


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "warning", "first_step"),
    [
        (nothing_else, None, 310),
        (damage_newest, "is damaged; going back to the one before", 260),
        (damage_both, "is damaged; going back to the one before", 10),
        (lose_replay, "cannot be used: the replay", 10),
        (cut_replay, "cannot be used: the replay", 10),
        (spoil_replay, "cannot be used: the replay has lost or altered transitions", 10),
        (flip_old_row, "cannot be used: the replay has lost or altered transitions", 10),
        (alter_metrics, "metrics.jsonl is damaged: line 1 does not match its checksum", 10),
        (add_garbage, None, 310),
        (lose_metrics, "metrics.jsonl has lost lines", 10),
        (leave_litter, None, 310),
    ],
)
def test_damage_costs_time_but_no_bit(
    damage: Callable[[Path], None], warning: str | None, first_step: int, run: Path, whole: Path
) -> None:
    damage(run)
    steps, warned = resume(run)
    assert bool(warned) == (warning is not None)
    assert all(warning in line for line in warned if warning)
    assert steps[0] == first_step
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


def test_a_finished_run_stays_as_it_is(whole: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    before = contents(out)
    assert resume(out) == ([], [])
    assert contents(out) == before
    # What a kill right after the last checkpoint leaves behind is removed.
    for name in ("step-000000000001.safetensors", "replay.f32"):
        (out / "checkpoint" / name).touch()
    assert resume(out) == ([], [])
    assert contents(out) == before
    # Policies that are missing are made again.
    for name in ("policy.json", "adversary.json", "adversary.safetensors"):
        (out / name).unlink()
    assert resume(out) == ([], [])
    assert results(out) == results(whole)


def test_a_kill_in_the_last_evaluation_before_any_checkpoint_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = dataclasses.replace(
        config_of(LANGEVIN), steps=100, checkpoint_every=1000, evaluate_every=100
    )
    train_config(config, out=tmp_path / "whole")

    def die(run: TrainingRun) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(TrainingRun, "evaluate", die)
        with pytest.raises(KilledError):
            train_config(config, out=tmp_path / "run")
    train_config(config, out=tmp_path / "run", resume=True)
    assert results(tmp_path / "run") == results(tmp_path / "whole")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["policy.safetensors", "adversary.json"])
def test_a_damaged_policy_is_made_again(name: str, whole: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    flip(out / name)
    resume(out)
    assert results(out) == results(whole)


def test_a_finished_run_is_not_trained_again_in_silence(whole: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    flip(out / "policy.safetensors")
    for path in (out / "checkpoint").glob("step-*"):
        flip(path)
    with pytest.raises(InvalidInputError, match="is damaged, and no checkpoint can make it whole"):
        resume(out)
    flip(out / "policy.safetensors")
    flip(out / "metrics.jsonl")
    with pytest.raises(InvalidInputError, match=r"metrics.jsonl is damaged: line \d+"):
        resume(out)


def test_a_finished_run_whose_metrics_lost_their_end_is_refused(
    whole: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    lines = (out / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (out / "metrics.jsonl").write_bytes(b"".join(lines[:-1]))
    with pytest.raises(InvalidInputError, match=r"metrics\.jsonl has lost lines"):
        resume(out)


@pytest.mark.parametrize("name", ["replay.f32", "step-000000000300.safetensors", "lock"])
def test_a_folder_in_place_of_a_file_is_said(name: str, run: Path) -> None:
    path = run / "checkpoint" / name
    path.unlink(missing_ok=True)
    path.mkdir()
    with pytest.raises(InvalidInputError, match=f"{name} is a folder and should be a file"):
        resume(run)


def test_a_finished_run_needs_its_checkpoints_no_more(whole: Path, tmp_path: Path) -> None:
    """Those of an earlier version may have another format."""
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    for file in checkpoint_files(out):
        file.write_bytes(b"of another version")
    before = contents(out)
    assert resume(out) == ([], [])
    assert contents(out) == before


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
    """Python and the command line each say it in their own words."""
    before = contents(run)
    assert main(["train", *LANGEVIN, "--out", str(run)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    held = "holds a run already: choose another with {}, or continue that run with {}"
    assert held.format("--out", "--resume") in said
    with pytest.raises(InvalidInputError, match=held.format("out=", "resume=True")):
        train_config(config_of(LANGEVIN), out=run)
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
    damaged = "config.json is damaged or no JSON file"
    none = "is not empty and holds no run: choose another"
    assert (damaged if "config.json" in names else none) in said
    assert contents(tmp_path) == before


def test_a_run_of_a_later_format_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(run / "config.json", {**read_json(run / "config.json"), "format_version": 2})
    assert main(["train", *LANGEVIN, "--out", str(run), "--resume"]) == 2
    assert "has the format_version 2, not 1" in capsys.readouterr().err


def test_other_versions_are_said(run: Path) -> None:
    path = run / "config.json"
    config = read_json(path)
    config["versions"]["jax"] = "0.0.1"
    write_json(path, config)
    fields = {field.name: config[field.name] for field in dataclasses.fields(Config)}
    folder = RunFolder(run)
    with pytest.warns(UserWarning, match="began with other versions of its packages"):
        folder.open(configure(**fields), resume=True)
    folder.close()


# -- numbers that are none, and full disks -------------------------------------------------------


def test_rewards_that_are_none_stop_a_run_before_they_reach_its_replay(tmp_path: Path) -> None:
    """So the checkpoint of which the message speaks can be used."""
    out = tmp_path / "run"
    config = dataclasses.replace(
        config_of(LANGEVIN), task="probes.faulty:SpoiltReward-v0", evaluate_every=0
    )
    with pytest.raises(InvalidInputError) as caught:
        train_config(config, out=out)
    said = str(caught.value)
    assert said.startswith("training stopped at step 130: the environment probes.faulty:SpoiltRew")
    assert "misbehaves: step 1 of episode 13 returned the reward nan, not finite in float" in said
    assert said.endswith("; the checkpoint at step 100 is kept, and resume=True goes on from it")
    assert next(load_checkpoints(out / "checkpoint")).step == 100
    assert np.isfinite(np.fromfile(out / "checkpoint" / "replay.f32", np.float32)).all()


def test_an_environment_that_fails_on_resumption_costs_nothing(
    run: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither checkpoint is to blame, and the replay stays."""

    def reset(**_: Any) -> None:
        raise InvalidInputError("no reset today")

    before = contents(run)
    with monkeypatch.context() as patch:
        patch.setattr(collection, "make_game_env", lambda task, game: Mock(reset=reset))
        with pytest.raises(InvalidInputError, match=r"^no reset today$"):
            train_config(config_of(LANGEVIN), out=run, resume=True)
    assert contents(run) == before
    assert resume(run)[1] == []
    assert results(run) == results(whole)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("wishes", [{"critic_learning_rate": 1e30}, {"eta": 3e38}])
def test_steps_that_are_far_too_large_are_a_failure_of_training(
    wishes: dict[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [
        word
        for name, value in wishes.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    assert main(["train", *LANGEVIN, *options, "--out", str(tmp_path / "run")]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("mixedne: training diverged at step ")


@pytest.mark.slow
def test_a_disk_that_fills_up_costs_nothing_that_was_saved(
    run: Path, laboratory: Laboratory, whole: Path
) -> None:
    saved = next(load_checkpoints(run / "checkpoint"))
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
    kept = next(load_checkpoints(run / "checkpoint"))  # a damaged one would warn
    assert kept.step == saved.step
    resume(run)
    assert results(run) == results(whole)


def test_a_disk_that_is_full_from_the_start_is_said_at_once(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    done = laboratory.train(*LANGEVIN, "--out", str(out), command=limited_command(3000))
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"mixedne: the run cannot be written to {out}: ")
    assert last.endswith("File too large; nothing is saved yet")
    assert "step 20" not in done.stderr
    assert not out.exists()  # nothing is in the way of the next try


# -- parts ---------------------------------------------------------------------------------------


def test_checkpoints_far_apart_need_no_room(tmp_path: Path) -> None:
    wishes: dict[str, Any] = {"hidden": (4,), "batch_size": 2, "steps": 3000, "replay_size": 1000}
    config = configure("InvertedPendulum", **wishes, checkpoint_every=10**12)
    folder = RunFolder(tmp_path / "run")
    folder.open(config, resume=False)
    run = TrainingRun(config, folder, make_updater(config))
    try:
        run.begin(resume=False)
        assert folder.replay.stat().st_size == 3000 * (4 + 1 + 1 + 1 + 1 + 1 + 4) * 4
    finally:
        run.close()
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


def test_a_file_system_without_locks_stops_nobody(
    empty_folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fails)
    second = RunFolder(empty_folder.path)
    second.open(configure("InvertedPendulum"), resume=True)
    second.close()
    assert not is_being_trained(empty_folder.path)


def test_policies_are_kept_in_turns(empty_folder: RunFolder) -> None:
    """The last two, results of an evaluation beside them; a run that was set back begins anew."""
    policies = {"policy": random_policy("InvertedPendulum-v5")}
    for step in (100, 200, 300):
        empty_folder.keep_policies(policies, step, 2)
        (empty_folder.path / KEPT / kept_name(step) / "evaluation.parquet").touch()
    assert [*kept_steps(empty_folder.path)] == [200, 300]
    assert [*(empty_folder.path / KEPT / kept_name(100)).iterdir()] == [
        empty_folder.path / KEPT / kept_name(100) / "evaluation.parquet"
    ]
    empty_folder.keep_policies(policies, 250, 2)
    assert [*kept_steps(empty_folder.path)] == [200, 250, 300]
    empty_folder.keep_policies(policies, 400, 0)
    assert [*kept_steps(empty_folder.path)] == [200, 250, 300]


@pytest.mark.parametrize("removed", range(5))
def test_a_kill_while_old_policies_go_leaves_none_of_them(
    removed: int, empty_folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after so many of the four files of two policies; the folder goes last."""
    players = {name: random_policy("InvertedPendulum-v5") for name in ("policy", "adversary")}
    empty_folder.keep_policies(players, 100, 1)
    gone: list[Path] = []
    unlink, rmdir = Path.unlink, Path.rmdir

    def remove(path: Path, missing_ok: bool = False) -> None:
        if path.parent.name == kept_name(100) and path.exists():
            if len(gone) == removed:
                raise KilledError
            gone.append(path)
        unlink(path, missing_ok=missing_ok)

    def remove_folder(path: Path) -> None:
        if len(gone) == removed == 4:
            raise KilledError
        rmdir(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", remove)
        patch.setattr(Path, "rmdir", remove_folder)
        with pytest.raises(KilledError):
            empty_folder.keep_policies(players, 200, 1)
    empty_folder.keep_policies(players, 200, 1)  # as the resumed run does
    assert [path.name for path in (empty_folder.path / KEPT).iterdir()] == [kept_name(200)]


def test_a_kill_while_policies_are_first_kept_leaves_no_litter(empty_folder: RunFolder) -> None:
    """The half-written file would outlive its folder's turn."""
    half = empty_folder.path / KEPT / kept_name(100) / ".policy-x1y2.safetensors"
    half.parent.mkdir(parents=True)
    half.touch()
    empty_folder.close()
    empty_folder.open(configure("InvertedPendulum"), resume=True)
    assert not half.exists()


def test_numbers_that_json_lacks_become_null(empty_folder: RunFolder) -> None:
    line: dict[str, Any] = {"kind": "evaluation", "return_mean": float("nan"), "step": 3}
    writer = MetricsWriter(empty_folder.metrics)
    writer.write(line, {**line, "return_mean": float("-inf")})
    text = empty_folder.metrics.read_text()
    assert len(text) == writer.size
    assert "NaN" not in text
    assert [line["return_mean"] for line in read_metrics(empty_folder.path)] == [None, None]


def test_metrics_of_earlier_versions_are_read_by_their_new_names(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(
        '{"format_version": 1, "kind": "training", "temperature": 0.5}\n'
    )
    with pytest.warns(UserWarning, match="carries no checksums"):
        assert read_metrics(tmp_path) == [
            {"format_version": 1, "kind": "training", "noise_scale": 0.5}
        ]
