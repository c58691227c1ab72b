"""Studies on a real Ray cluster of two nodes, one of which is killed."""

import contextlib
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.studies import ray as ray_executor
from mixedne.studies.folder import StudyFolder, pack, unpack
from mixedne.studies.ray import _run_on_node, check_address
from mixedne.studies.results import results
from probes.runs import Laboratory
from probes.studies import policies, pretend_run, run_study, start_study, wait_until, write_study


def test_what_another_study_made_is_kept_and_not_made_again(tmp_path: Path) -> None:
    """Two studies name one run, with evaluations of their own."""
    folder = StudyFolder(tmp_path / "study")
    folder.create()
    masses, noise = Grid(mass=(0.5, 1.0), episodes=2), Grid(noise=(0.5,), episodes=1)
    run = pretend_run(folder, 0, masses)  # with weights that no training would give
    place = folder.run_folder(run)
    policy = (place / "policy.safetensors").read_bytes()
    runs = [run, replace(run, evaluations=(noise,))]
    for each in runs:
        document = json.dumps(each.to_json())
        archives, error = _run_on_node([document], [pack(place)], "job", Mock())
        assert not error
        unpack(archives[0], place)
    assert (place / "policy.safetensors").read_bytes() == policy
    assert results(folder.path).height == 4 + 1
    assert not folder.unfinished(runs)


def test_an_address_where_nobody_listens_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "127.0.0.1:99999"):
        with pytest.raises(InvalidInputError, match=f"there is no Ray cluster at {address}: "):
            check_address(address)
    check_address(None)
    check_address("auto")


def test_without_ray_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidInputError, match=r"needs Ray: install it with pip install 'mixedne"):
        ray_executor.find_ray()


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a short name, as Ray's sockets need it."""
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_node_that_is_killed_takes_no_run_with_it(
    tmp_path: Path,
    short: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two nodes on one machine, each with a folder for what its tasks write."""
    pytest.importorskip("ray", reason="Ray is not installed: make extras")
    from ray.cluster_utils import Cluster

    laboratory = Laboratory()
    for name, value in laboratory.environment.items():
        monkeypatch.setenv(name, value)
    study = write_study(tmp_path / "mine.toml", seeds=4, steps=2000)
    places = [short / "1", short / "2"]
    cluster = Cluster()
    try:
        nodes = []
        for place in places:
            place.mkdir()
            monkeypatch.setenv("TMPDIR", str(place))
            nodes.append(cluster.add_node(num_cpus=1, include_dashboard=False))
        options = ("--executor", "ray", "--address", cluster.address, "--workers", "2")
        process = start_study(laboratory, study, tmp_path / "ray", *options)
        for place in places:  # both work, and the second has got somewhere
            wait_until(partial(_has_begun, place), process)
        cluster.remove_node(nodes[1], allow_graceful=False)
        said = process.communicate()[1]
        [lost] = places[1].glob("mixedne-*/runs/*")  # nobody was left to clear it away
        assert not (lost / "finished.json").exists()
    finally:
        cluster.shutdown()
    assert process.returncode == 0, said
    assert "4 of 4 runs" in said
    done = run_study(laboratory, study, tmp_path / "local")
    assert done.returncode == 0, done.stderr
    assert policies(tmp_path / "ray") == policies(tmp_path / "local")
    assert results(tmp_path / "ray").height == results(tmp_path / "local").height == 4 * 4


def _has_begun(place: Path) -> bool:
    return any(place.glob("mixedne-*/runs/*/checkpoint/step-*"))


def _ray_processes(parent: int, name: str) -> list[int]:
    """The Ray processes that a study has started, by a part of their command."""
    found = []
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if name in Path(f"/proc/{child}/cmdline").read_text():
                found.append(int(child))
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_dead_raylet_and_a_killed_study_cost_no_run(tmp_path: Path) -> None:
    """The Ray process of the study's own machine dies; then the study itself, with SIGKILL."""
    pytest.importorskip("ray", reason="Ray is not installed: make extras")
    laboratory = Laboratory()
    study = write_study(tmp_path / "mine.toml", seeds=4, steps=2000)
    out = tmp_path / "ray"

    def is_running() -> bool:
        return len(list(out.glob("runs/*/finished.json"))) > 0

    process = start_study(laboratory, study, out, "--executor", "ray")
    [raylet] = wait_until(lambda: _ray_processes(process.pid, "raylet/raylet"), process)
    wait_until(is_running, process)
    os.kill(raylet, signal.SIGKILL)
    assert process.stderr is not None
    said = next(line for line in process.stderr if "waiting for the cluster" in line)
    assert "died" in said  # Ray names the raylet or the actor, whichever it misses first
    wait_until(lambda: _ray_processes(process.pid, "raylet/raylet") not in ([], [raylet]), process)
    process.kill()
    process.communicate()
    done = run_study(laboratory, study, out, "--executor", "ray", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)  # and nothing else
    assert (document["runs"], document["failed"]) == (4, [])
    assert not list(out.glob(".received-*"))
    local = run_study(laboratory, study, tmp_path / "local", "--json")
    assert local.returncode == 0, local.stderr
    assert document["results"] == json.loads(local.stdout)["results"]
    assert policies(out) == policies(tmp_path / "local")
