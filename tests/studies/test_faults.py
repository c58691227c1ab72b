"""Studies that are killed, interrupted, damaged and starved end as if nothing had happened."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from mixedne.studies.folder import StudyFolder
from mixedne.studies.results import results
from probes.runs import Laboratory, limited_command
from probes.studies import (
    EVALUATIONS,
    has_checkpoint,
    is_gone,
    newest,
    policies,
    run_study,
    start_study,
    wait_until,
    workers,
    write_study,
)

STEPS = 1000


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that differ in their seed."""
    return write_study(tmp_path_factory.mktemp("files") / "mine.toml", steps=STEPS)


@pytest.fixture(scope="module")
def whole(laboratory: Laboratory, study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study, never disturbed."""
    out = tmp_path_factory.mktemp("studies") / "whole"
    done = run_study(laboratory, study, out)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 runs" in done.stderr
    assert "InvertedPendulum-v5" in done.stdout
    return out


def same(out: Path, whole: Path) -> bool:
    """The same policies, byte for byte, and the same episodes."""
    order = ["run", "mass", "episode"]
    tables = [results(path).drop("versions").sort(order) for path in (out, whole)]
    assert policies(out)
    return policies(out) == policies(whole) and tables[0].equals(tables[1])


def test_a_run_of_a_study_is_what_train_makes(
    laboratory: Laboratory, whole: Path, tmp_path: Path
) -> None:
    settings = "--hidden 8 --batch-size 8 --collect-steps 10 --updates 4 --update-after 20"
    settings += " --checkpoint-every 50 --metrics-every 500 --evaluate-every 0"
    out = tmp_path / "run"
    arguments = ["--solver", "gad", "--steps", str(STEPS), "--seed", "1", *settings.split()]
    done = laboratory.train("InvertedPendulum-v5", *arguments, "--out", str(out))
    assert done.returncode == 0, done.stderr
    [run] = whole.glob("runs/*seed1*")
    for name in ("policy.json", "policy.safetensors", "adversary.safetensors", "config.json"):
        assert (out / name).read_bytes() == (run / name).read_bytes()


@pytest.mark.slow
def test_kills_and_interruptions_cost_no_bit(
    laboratory: Laboratory, study: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    # A worker is killed: its run goes on in another.
    process = start_study(laboratory, study, out)
    wait_until(lambda: has_checkpoint(out, seed=0), process)
    [worker] = workers(process)
    os.kill(worker, signal.SIGKILL)
    assert process.stderr is not None
    said = next(line for line in process.stderr if "trying again" in line)
    assert "seed0" in said
    assert "its worker was killed (SIGKILL); trying again" in said
    # The study itself is killed: its worker goes, too, and lets the run go.
    wait_until(lambda: has_checkpoint(out, seed=1), process)
    [worker] = workers(process)
    process.kill()
    process.communicate()
    wait_until(lambda: is_gone(worker))
    assert not list(out.glob("runs/*/finished.json"))  # what failed is tried again last
    # An interruption: the worker saves, and the user is told how to go on.
    before = newest(out, seed=1)
    process = start_study(laboratory, study, out)
    wait_until(lambda: newest(out, seed=1) > before, process)
    process.send_signal(signal.SIGTERM)
    said = process.communicate()[1]
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "stopped; go on with: mixedne study" in said
    assert len(list(out.glob("runs/*/finished.json"))) == 1
    done = run_study(laboratory, study, out)
    assert done.returncode == 0, done.stderr
    assert same(out, whole)
    assert "Traceback" not in StudyFolder(out).log("mine").read_text()


@pytest.mark.slow
def test_a_worker_whose_study_is_killed_saves(laboratory: Laboratory, tmp_path: Path) -> None:
    study = write_study(tmp_path / "mine.toml", seeds=1, steps=10**6)
    text = study.read_text().replace("checkpoint_every = 50", "checkpoint_every = 10000000")
    study.write_text(text)
    out = tmp_path / "out"
    process = start_study(laboratory, study, out)
    wait_until(lambda: any(path.stat().st_size for path in out.glob("runs/*/metrics*")), process)
    assert not has_checkpoint(out, seed=0)
    [worker] = workers(process)
    process.kill()
    process.communicate()
    wait_until(lambda: is_gone(worker))
    assert has_checkpoint(out, seed=0)


@pytest.mark.slow
def test_damage_is_repaired(
    laboratory: Laboratory, study: Path, whole: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    first, second = sorted((out / "runs").iterdir())
    weights = bytearray((first / "policy.safetensors").read_bytes())
    weights[-1] ^= 1
    (first / "policy.safetensors").write_bytes(weights)
    (first / "adversary.json").unlink()
    (first / "adversary.json").mkdir()
    os.truncate(first / "evaluation.parquet", 50)
    os.truncate(second / "config.json", 50)
    os.truncate(second / "policy.json", 5)
    done = run_study(laboratory, study, out)
    assert done.returncode == 0, done.stderr
    assert same(out, whole)
    assert (second / "config.json").read_bytes() == (
        whole / "runs" / second.name / "config.json"
    ).read_bytes()
    assert f"mixedne: {second / 'config.json'} was damaged or gone: it is restored" in done.stderr
    log = StudyFolder(out).log("mine").read_text()
    assert "evaluation.parquet is damaged: its episodes are run again" in log
    # Without its checkpoint, a damaged policy is refused.
    os.truncate(first / "policy.json", 5)
    shutil.rmtree(first / "checkpoint")
    done = run_study(laboratory, study, out)
    assert done.returncode == 1
    assert "1 of 2 runs failed" in done.stderr.splitlines()[-1]
    assert "pass --retrain-damaged to train the run again" in done.stderr.splitlines()[-1]
    done = run_study(laboratory, study, out, "--retrain-damaged")
    assert done.returncode == 0, done.stderr
    assert same(out, whole)


@pytest.mark.slow
def test_two_studies_share_a_folder(
    laboratory: Laboratory, study: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    more = "\n[[evaluations]]\nnoise = [0.5]\nepisodes = 1\n"
    other = write_study(tmp_path / "other.toml", seeds=1, steps=STEPS, more=EVALUATIONS + more)
    processes = [start_study(laboratory, file, out) for file in (study, other)]
    for process in processes:
        said = process.communicate()[1]
        assert process.returncode == 0, said
        assert "trying again" not in said
    assert policies(out) == policies(whole)
    table = results(out)
    assert table.height == 2 * 4 + 1
    assert results(out, study="other").height == 4 + 1


@pytest.mark.slow
def test_one_bad_run_takes_no_other_down(laboratory: Laboratory, tmp_path: Path) -> None:
    study = write_study(tmp_path / "mine.toml", seeds=1)
    text = study.read_text().replace(
        '["InvertedPendulum-v5"]', '["probes.faulty:SpoiltReward-v0", "InvertedPendulum-v5"]'
    )
    study.write_text(text.replace("mass = [0.5, 1.0]", "noise = [0.0]"))
    out = tmp_path / "out"
    done = run_study(laboratory, study, out, "--retries", "1", "--allow-import")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("mixedne: 1 of 2 runs failed, the first of them probes.faulty_Spoilt")
    assert "reward" in last
    assert done.stderr.count("trying again") == 1
    assert "Traceback" not in done.stderr
    assert len(list(out.glob("runs/InvertedPendulum*/evaluation.parquet"))) == 1


@pytest.mark.slow
def test_a_full_disk_is_said_and_costs_nothing(laboratory: Laboratory, tmp_path: Path) -> None:
    study = write_study(tmp_path / "mine.toml", seeds=1)
    out = tmp_path / "out"
    done = run_study(laboratory, study, out, "--retries", "0", command=limited_command(6000))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("mixedne: 1 of 1 runs failed")
    assert "File too large" in last
    done = run_study(laboratory, study, out)
    assert done.returncode == 0, done.stderr
    assert results(out).height == 4


@pytest.mark.slow
def test_runs_that_are_trained_together_are_what_train_makes(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    study = tmp_path / "mine.toml"
    study.write_text(
        "[[runs]]\ntasks = ['toy']\nagents = ['vpg']\nseeds = 3\nsteps = 20\n"
        "[[evaluations]]\nrho = [0.1]\nepisodes = 2\n"
        "[[evaluations]]\nrho = [0.1]\nepisodes = 2\nstochastic = true\n"
    )
    done = run_study(laboratory, study, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "and 2 more: finished" in done.stderr
    arguments = ("toy", "--agent", "vpg", "--steps", "20", "--seed", "1")
    alone = laboratory.train(*arguments, "--out", str(tmp_path / "run"))
    assert alone.returncode == 0, alone.stderr
    [run] = tmp_path.glob("out/runs/*seed1*")
    for name in ("policy.safetensors", "adversary.safetensors", "config.json"):
        assert (run / name).read_bytes() == (tmp_path / "run" / name).read_bytes()
    assert set(results(tmp_path / "out")["acting"]) == {"mean", "stochastic"}
