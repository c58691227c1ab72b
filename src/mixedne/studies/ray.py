"""The Ray executor: one task per job, on the nodes of a cluster, without a shared file system.

A task trains in a folder of its node and sends the finished run folders back as archives. Runs that
are already trained are sent along, so that only missing work is done. If a node is lost, Ray
restarts its jobs on others; if it is the study's own node, the study reconnects to the cluster, or
starts another. Needs the extra ``mixedne[ray]``; every node needs this package.
"""

import contextlib
import json
import socket
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mixedne.errors import InvalidInputError, TrainingError, first_line, optional_import
from mixedne.studies.folder import FINISHED, Locks, StudyFolder, pack, unpack
from mixedne.studies.local import ONE_THREAD
from mixedne.studies.plan import PlannedRun
from mixedne.studies.scheduler import Event, Job

LOST_NODES = 20
"""Number of times a job may be lost with its node before it counts as failed."""

CLUSTER_SECONDS = 600.0
"""Seconds that a study waits for a cluster that has become unreachable."""


def find_ray() -> Any:
    """The module ``ray``; if it is missing, an error says how to install it."""
    words = "--executor ray needs Ray: install it with pip install 'mixedne[ray]'"
    return optional_import("ray", words)


class RayExecutor:
    """Jobs as tasks of a Ray cluster."""

    def __init__(self, folder: StudyFolder, address: str | None, workers: int | None) -> None:
        """Connect to the cluster at the address, or start one on this machine."""
        self._ray = find_ray()
        self._folder, self._address, self._limit = folder, address, workers
        self._owns = not self._ray.is_initialized()
        self._running: dict[Any, Job] = {}
        self._events: list[Event] = []
        self._lost_since: float | None = None
        self._losses = 0
        self._connect()
        self._locks = Locks(folder.locks)

    def free(self) -> int:
        """Free slots: as many as there are CPUs, and one for a task that is sent ahead."""
        if self._lost_since is not None:
            return 0
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        ended = sum(event.kind != "progress" for event in self._events)
        return max(0, (self._limit or cores + 1) - len(self._running) - ended)

    def start(self, job: Job) -> None:
        """Submit the job, unless another process has locked one of its runs."""
        if not self._locks.acquire(job.runs):
            self._events.append(Event(job, "held"))
            return
        documents = [json.dumps(run.to_json()) for run in job.runs]
        folders = map(self._folder.run_folder, job.runs)
        # Unfinished runs are not sent.
        trained = [pack(path) if (path / FINISHED).exists() else None for path in folders]
        self._running[self._task.remote(documents, trained, job.name, self._mailbox)] = job

    def poll(self, seconds: float) -> list[Event]:
        """Events of the finished tasks, and the progress of the others.

        If the Ray process of this node dies, the connection and all running jobs are lost.
        """
        if self._lost_since is not None:
            self._connect_again()
        if not self._running:
            time.sleep(0 if self._events else seconds)
        else:
            try:
                done, _ = self._ray.wait(list(self._running), timeout=seconds, fetch_local=False)
                for reference in done:
                    self._end(reference, self._receive(reference))
                with contextlib.suppress(self._ray.exceptions.GetTimeoutError):
                    reports = self._ray.get(self._mailbox.take.remote(), timeout=10)
                    jobs = {job.name: job for job in self._running.values()}
                    known = jobs.keys() & reports.keys()
                    self._events += [Event(jobs[x], "progress", *reports[x]) for x in known]
            except self._lost_errors as lost:
                for reference in list(self._running):
                    self._end(reference, first_line(lost), kind="lost")
                self._lost_since = time.monotonic()
                self._losses += 1
        events, self._events = self._events, []
        return events

    def stop(self) -> None:
        """Cancel the running tasks; a cluster that existed before keeps running."""
        with contextlib.suppress(Exception):  # the cluster may be gone
            for reference in self._running:
                self._ray.cancel(reference, force=True)
            self._ray.kill(self._mailbox)
        self._locks.close()
        if self._owns:
            self._ray.shutdown()

    def _connect(self) -> None:
        """Connect to the cluster, or start one, with a mailbox on this node."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

        address, errors = self._address, self._ray.exceptions
        if self._owns:
            check_address(address)
            options = {"address": address} if address else {"num_cpus": self._limit}
            try:
                self._ray.init(**options, log_to_driver=False, logging_level="error")
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise InvalidInputError(
                    f"there is no Ray cluster at {address}: {first_line(error)}"
                ) from None
        self._lost_errors = (errors.LocalRayletDiedError, errors.ActorDiedError)
        here = On(self._ray.get_runtime_context().get_node_id(), soft=False)
        self._mailbox = self._ray.remote(num_cpus=0, scheduling_strategy=here)(_Mailbox).remote()
        environment = {"env_vars": dict.fromkeys(ONE_THREAD, "1")}
        self._task = self._ray.remote(num_cpus=1, max_retries=LOST_NODES, runtime_env=environment)(
            _run_on_node
        )

    def _connect_again(self) -> None:
        """Reconnect to the cluster, or start another, as soon as possible."""
        if self._losses > LOST_NODES:
            raise TrainingError(f"the Ray cluster was lost more than {LOST_NODES} times")
        self._ray.shutdown()
        self._owns = True
        try:
            self._connect()
            self._lost_since = None
        except InvalidInputError as error:
            if time.monotonic() - (self._lost_since or 0.0) > CLUSTER_SECONDS:
                raise TrainingError(f"{error}; the same command goes on") from None

    def _end(self, reference: Any, error: str, kind: str = "failed") -> None:
        job = self._running.pop(reference)
        self._locks.release(job.runs)
        self._events.append(Event(job, kind if error else "finished", error=error))

    def _receive(self, reference: Any) -> str:
        """Unpack the result of a task; returns its error, or an empty string."""
        try:
            archives, error = self._ray.get(reference)
            for run, archive in zip(self._running[reference].runs, archives, strict=False):
                unpack(archive, self._folder.run_folder(run))
        except self._lost_errors:
            raise
        except self._ray.exceptions.RayError as failed:
            return str(failed).strip().splitlines()[-1]
        except (OSError, zipfile.BadZipFile) as failed:
            return f"its results cannot be written: {failed}"
        return str(error)


def check_address(address: str | None) -> None:
    """Raise if nothing listens at an address: Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not port.isdecimal():  # "auto", or none
        return
    try:
        socket.create_connection((host, int(port)), timeout=10.0).close()
    except (OSError, OverflowError) as error:
        raise InvalidInputError(f"there is no Ray cluster at {address}: {error}") from None


class _Mailbox:
    """An actor with the last report of each task since the study's last query."""

    def __init__(self) -> None:
        self._reports: dict[str, tuple[str, int, int]] = {}

    def put(self, name: str, stage: str, done: int, total: int) -> None:
        self._reports[name] = (stage, done, total)

    def take(self) -> dict[str, tuple[str, int, int]]:
        reports, self._reports = self._reports, {}
        return reports


def _run_on_node(
    documents: Sequence[str], trained: Sequence[bytes | None], name: str, mailbox: Any
) -> tuple[list[bytes], str]:
    """Run a job on a node, in a temporary folder; returns archives of the run folders, or an error.

    ``trained`` are archives of the runs that are already trained.
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
        error = try_job(runs, folders, throttled(report, seconds=2.0))
        return ([], error) if error else ([pack(folder) for folder in folders], "")
