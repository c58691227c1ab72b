"""The Ray executor: one task a job, on the nodes of a cluster, without a shared file system.

A task trains in a folder of its node and sends the finished run folders back as archives. Runs that
are trained already are sent along, so that only what is missing is done. A node that is lost takes
its jobs with it: Ray gives them to others, and they start again. Needs the extra ``mixedne[ray]``;
every node needs this package.
"""

import contextlib
import io
import json
import shutil
import socket
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mixedne.errors import InvalidInputError
from mixedne.studies.local import ONE_THREAD
from mixedne.studies.plan import run_from_json, run_to_json
from mixedne.studies.schedule import Event, Job
from mixedne.studies.store import Locks, StudyFolder, read_finished

LOST_NODES = 20
"""How often a job may be lost with its node; that is no fault of its own."""

CONNECT_SECONDS = 10.0
"""In which a cluster must answer."""

TELL_EVERY = 2.0
"""Seconds between two reports of progress of a task."""


def find_ray() -> Any:
    """Ray, or one sentence that says how to get it."""
    try:
        import ray
    except ImportError:
        raise InvalidInputError(
            "--executor ray needs Ray: install it with pip install 'mixedne[ray]'"
        ) from None
    return ray


class RayExecutor:
    """Jobs as tasks of a Ray cluster."""

    def __init__(self, folder: StudyFolder, address: str | None, workers: int | None) -> None:
        """Joins the cluster at the address, or starts one on this machine."""
        self._ray = find_ray()
        self._folder = folder
        self._limit = workers
        self._owns = not self._ray.is_initialized()
        if self._owns:
            self._join(address, workers)
        self._locks = Locks(folder.locks)
        here = self._ray.get_runtime_context().get_node_id()
        self._news = (
            self._ray.remote(num_cpus=0)(_News).options(scheduling_strategy=_on(here)).remote()
        )
        environment = {"env_vars": dict.fromkeys(ONE_THREAD, "1")}
        self._task = self._ray.remote(num_cpus=1, max_retries=LOST_NODES, runtime_env=environment)(
            _do_elsewhere
        )
        self._running: dict[Any, Job] = {}
        self._refused: list[Job] = []

    def free(self) -> int:
        """As many tasks as there are processors, and a few to be sent ahead."""
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        return max(0, (self._limit or cores + 1) - len(self._running) - len(self._refused))

    def start(self, job: Job) -> None:
        """Send the job off, unless another process has one of its runs."""
        if not self._locks.take(job.runs):
            self._refused.append(job)
            return
        documents = [json.dumps(run_to_json(run)) for run in job.runs]
        there = [pack_trained(self._folder.run_folder(run)) for run in job.runs]
        self._running[self._task.remote(documents, there, job.name, self._news)] = job

    def poll(self, seconds: float) -> list[Event]:
        """What has come back, and what the tasks have told."""
        events = [Event(job, "held") for job in self._refused]
        self._refused = []
        if not self._running:
            time.sleep(0 if events else seconds)
            return events
        done, _ = self._ray.wait(list(self._running), timeout=seconds, fetch_local=False)
        events += self._told()
        for reference in done:
            job = self._running.pop(reference)
            error = self._receive(reference, job)
            self._locks.free(job.runs)
            events.append(Event(job, "failed" if error else "finished", error=error))
        return events

    def stop(self) -> None:
        """Give up the tasks under way; a cluster that was there before stays."""
        with contextlib.suppress(Exception):  # of a cluster that has gone
            for reference in self._running:
                self._ray.cancel(reference, force=True)
            self._ray.kill(self._news)
        self._locks.close()
        if self._owns:
            self._ray.shutdown()

    def _join(self, address: str | None, workers: int | None) -> None:
        options = {"address": address} if address else {"num_cpus": workers}
        check_address(address)
        try:
            self._ray.init(**options, log_to_driver=False, logging_level="error")
        except (ConnectionError, ValueError, RuntimeError) as error:
            reason = str(error).strip().splitlines()[0]
            raise InvalidInputError(f"there is no Ray cluster at {address}: {reason}") from None

    def _told(self) -> list[Event]:
        jobs = {job.name: job for job in self._running.values()}
        with contextlib.suppress(self._ray.exceptions.RayError):
            told = self._ray.get(self._news.take.remote(), timeout=10)
            return [
                Event(jobs[name], "progress", what, done, total)
                for name, (what, done, total) in told.items()
                if name in jobs
            ]
        return []

    def _receive(self, reference: Any, job: Job) -> str:
        """Unpack what a task has sent; its error, if it sent none."""
        try:
            archives, error = self._ray.get(reference)
            for run, archive in zip(job.runs, archives, strict=False):
                unpack(archive, self._folder.run_folder(run))
        except self._ray.exceptions.RayError as lost:
            return str(lost).strip().splitlines()[-1]
        except (OSError, zipfile.BadZipFile) as failed:
            return f"its results cannot be written: {failed}"
        return str(error)


def check_address(address: str | None) -> None:
    """Refuse an address where nobody listens: Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not port.isdecimal():  # "auto", or none
        return
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InvalidInputError(f"there is no Ray cluster at {address}: {error}") from None


class _News:
    """What the tasks have told since it was asked last; lives beside the study's own process."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, int, int]] = {}

    def tell(self, name: str, what: str, done: int, total: int) -> None:
        self._told[name] = (what, done, total)

    def take(self) -> dict[str, tuple[str, int, int]]:
        told, self._told = self._told, {}
        return told


def _on(node: str) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)


def _do_elsewhere(
    documents: Sequence[str], there: Sequence[bytes | None], name: str, news: Any
) -> tuple[list[bytes], str]:
    """On a node: do the job in a folder of its own; archives of the run folders, or an error.

    ``there`` are archives of those runs that are trained.
    """
    from mixedne.errors import TrainingError
    from mixedne.studies.work import do_job

    told = 0.0

    def tell(what: str, done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= TELL_EVERY:
            told = time.monotonic()
            news.tell.remote(name, what, done, total)

    runs = [run_from_json(json.loads(document)) for document in documents]
    with tempfile.TemporaryDirectory(prefix="mixedne-") as place:
        folders = [Path(place) / "runs" / run.name for run in runs]
        try:
            for archive, folder in zip(there, folders, strict=True):
                if archive is not None:
                    unpack(archive, folder)
            do_job(runs, folders, tell)
        except (InvalidInputError, TrainingError, OSError, MemoryError) as error:
            return [], str(error) or "out of memory"
        except Exception as error:
            return [], f"{type(error).__name__}: {error}"
        return [pack(folder) for folder in folders], ""


def pack(folder: Path) -> bytes:
    """A run folder as an archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return content.getvalue()


def pack_trained(folder: Path) -> bytes | None:
    """A run folder as an archive if it is trained; what was only begun does not travel."""
    return pack(folder) if read_finished(folder).trained else None


def unpack(content: bytes, folder: Path) -> None:
    """Put a run folder in its place, whole or not at all; what was begun there goes."""
    work = Path(tempfile.mkdtemp(dir=folder.parent.parent, prefix=".received-"))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(work / "new")
        folder.parent.mkdir(exist_ok=True)
        if folder.exists():
            folder.replace(work / "old")
        (work / "new").replace(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
