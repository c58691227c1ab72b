"""The Ray executor: one task per job, on the nodes of a cluster, without a shared file system.

A task trains in a folder of its node and sends the finished run folders back as archives. Runs that
are trained already are sent along, so that only what is missing is done. If a node is lost, Ray
starts its jobs again on others. Needs the extra ``mixedne[ray]``; every node needs this package.
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
from mixedne.studies.folder import Locks, StudyFolder, read_finished
from mixedne.studies.local import ONE_THREAD
from mixedne.studies.plan import PlannedRun
from mixedne.studies.scheduler import Event, Job

LOST_NODES = 20
"""How often a job may be lost with its node before it counts as failed."""

CONNECT_SECONDS = 10.0
"""The time in which a cluster must answer."""

REPORT_EVERY = 2.0
"""Seconds between two reports of a task's progress."""


def find_ray() -> Any:
    """The module ``ray``, or one sentence that says how to install it."""
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
        actor = self._ray.remote(num_cpus=0)(_Mailbox)
        self._mailbox = actor.options(scheduling_strategy=_on(here)).remote()
        environment = {"env_vars": dict.fromkeys(ONE_THREAD, "1")}
        self._task = self._ray.remote(num_cpus=1, max_retries=LOST_NODES, runtime_env=environment)(
            _run_on_node
        )
        self._running: dict[Any, Job] = {}
        self._refused: list[Job] = []

    def free(self) -> int:
        """As many tasks as there are processors, and one that is sent ahead."""
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        return max(0, (self._limit or cores + 1) - len(self._running) - len(self._refused))

    def start(self, job: Job) -> None:
        """Send the job off, unless another process has one of its runs."""
        if not self._locks.acquire(job.runs):
            self._refused.append(job)
            return
        documents = [json.dumps(run.to_json()) for run in job.runs]
        trained = [pack_trained(self._folder.run_folder(run)) for run in job.runs]
        self._running[self._task.remote(documents, trained, job.name, self._mailbox)] = job

    def poll(self, seconds: float) -> list[Event]:
        """The tasks that have come back, and the progress of the others."""
        events = [Event(job, "held") for job in self._refused]
        self._refused = []
        if not self._running:
            time.sleep(0 if events else seconds)
            return events
        done, _ = self._ray.wait(list(self._running), timeout=seconds, fetch_local=False)
        events += self._progress()
        for reference in done:
            job = self._running.pop(reference)
            error = self._receive(reference, job)
            self._locks.release(job.runs)
            events.append(Event(job, "failed" if error else "finished", error=error))
        return events

    def stop(self) -> None:
        """Cancel the running tasks; a cluster that was there before stays."""
        with contextlib.suppress(Exception):  # the cluster may be gone
            for reference in self._running:
                self._ray.cancel(reference, force=True)
            self._ray.kill(self._mailbox)
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

    def _progress(self) -> list[Event]:
        jobs = {job.name: job for job in self._running.values()}
        with contextlib.suppress(self._ray.exceptions.RayError):
            reports = self._ray.get(self._mailbox.take.remote(), timeout=10)
            return [
                Event(jobs[name], "progress", *report)
                for name, report in reports.items()
                if name in jobs
            ]
        return []

    def _receive(self, reference: Any, job: Job) -> str:
        """Unpack what a task has sent; returns its error, empty if there is none."""
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


class _Mailbox:
    """The last report of each task since the study asked; an actor beside the study's process."""

    def __init__(self) -> None:
        self._reports: dict[str, tuple[str, int, int]] = {}

    def put(self, name: str, stage: str, done: int, total: int) -> None:
        self._reports[name] = (stage, done, total)

    def take(self) -> dict[str, tuple[str, int, int]]:
        reports, self._reports = self._reports, {}
        return reports


def _on(node: str) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)


def _run_on_node(
    documents: Sequence[str], trained: Sequence[bytes | None], name: str, mailbox: Any
) -> tuple[list[bytes], str]:
    """On a node: run the job in a temporary folder; archives of the run folders, or an error.

    ``trained`` are archives of the runs that are trained already.
    """
    from mixedne.studies.jobs import throttled, try_job

    def report(stage: str, done: int, total: int) -> None:
        mailbox.put.remote(name, stage, done, total)

    runs = [PlannedRun.from_json(json.loads(document)) for document in documents]
    with tempfile.TemporaryDirectory(prefix="mixedne-") as place:
        folders = [Path(place) / "runs" / run.name for run in runs]
        try:
            for archive, folder in zip(trained, folders, strict=True):
                if archive is not None:
                    unpack(archive, folder)
        except OSError as failed:
            return [], str(failed)
        error = try_job(runs, folders, throttled(report, REPORT_EVERY))
        return ([], error) if error else ([pack(folder) for folder in folders], "")


def pack(folder: Path) -> bytes:
    """A run folder as an archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return content.getvalue()


def pack_trained(folder: Path) -> bytes | None:
    """A run folder as an archive if it is trained; a run that is only begun is not sent."""
    return pack(folder) if read_finished(folder).trained else None


def unpack(content: bytes, folder: Path) -> None:
    """Put a run folder in its place, whole or not at all; it replaces what was begun there."""
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
