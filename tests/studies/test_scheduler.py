"""The scheduler, with an executor that does as it is told."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mixedne.config import configure
from mixedne.config.identity import to_json
from mixedne.studies import scheduler
from mixedne.studies.folder import StudyFolder, mark_finished
from mixedne.studies.plan import PlannedRun
from mixedne.studies.scheduler import Event, Job, Progress, run_jobs

RUNS = [PlannedRun(to_json(configure("InvertedPendulum", seed=seed))) for seed in range(5)]


class Script:
    """Answers each job by a rule; takes two at a time."""

    def __init__(self, rule: Callable[[Job, int], str]) -> None:
        self.rule = rule
        self.jobs: list[Job] = []
        self.tried: Counter[str] = Counter()
        self.most = 0
        self.stopped = False

    def free(self) -> int:
        return 2 - len(self.jobs)

    def start(self, job: Job) -> None:
        self.jobs.append(job)
        self.most = max(self.most, len(self.jobs))

    def poll(self, seconds: float) -> list[Event]:
        if not self.jobs:
            return []
        job = self.jobs.pop(0)
        self.tried[job.name] += 1
        kind = self.rule(job, self.tried[job.name])
        return [Event(job, "progress", "training", 1, 2), Event(job, kind, error="it broke")]

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    made = StudyFolder(tmp_path / "out")
    made.create()
    return made


def do(folder: StudyFolder, script: Script, runs: list[PlannedRun] = RUNS) -> tuple[Progress, str]:
    messages: list[str] = []
    progress = run_jobs(
        folder,
        runs,
        script,
        retries=2,
        refused={},
        show=lambda progress: messages.extend(progress.messages),
    )
    assert script.stopped
    return progress, "\n".join(messages)


def test_all_is_done_side_by_side(folder: StudyFolder) -> None:
    script = Script(lambda job, number: "finished")
    progress, _ = do(folder, script)
    assert (progress.done, progress.total, progress.failed, progress.running) == (5, 5, {}, {})
    assert script.most == 2
    assert progress.seconds_left == 0


def test_the_longest_first_and_again_if_it_fails(folder: StudyFolder) -> None:
    lengths = (2_000, 5_000, 1_000, 4_000, 3_000)
    runs = [PlannedRun({**run.fields, "steps": n}) for run, n in zip(RUNS, lengths, strict=True)]
    started: list[int] = []

    def rule(job: Job, number: int) -> str:
        started.append(job.runs[0].fields["steps"])
        return "failed" if (started[-1], number) == (4_000, 1) else "finished"

    run_jobs(
        folder, runs, Script(rule), retries=2, refused={}, show=lambda _: None, longest_first=True
    )
    # 3000 had begun already when 4000 failed.
    assert started == [5_000, 4_000, 3_000, 4_000, 2_000, 1_000]


def test_failures_are_repeated_so_often_and_take_nothing_down(folder: StudyFolder) -> None:
    bad, weak = RUNS[1].name, RUNS[2].name
    script = Script(
        lambda job, n: "failed" if job.name == bad or (job.name == weak and n < 3) else "finished"
    )
    progress, messages = do(folder, script)
    assert progress.failed == {bad: "it broke"}
    assert progress.done == 4
    assert progress.retried == 4
    assert script.tried[bad] == script.tried[weak] == 3
    assert f"{bad}: it broke; trying again" in messages
    assert f"{bad}: it broke; given up" in messages


def test_a_group_that_fails_is_tried_one_by_one(folder: StudyFolder) -> None:
    group = [PlannedRun({**run.fields, "agent": "vpg"}) for run in RUNS]
    bad = group[3].name
    script = Script(
        lambda job, n: "failed" if any(run.name == bad for run in job.runs) else "finished"
    )
    progress, _ = do(folder, script, group)
    assert set(progress.failed) == {bad}
    assert progress.done == 4


def test_what_another_process_has_is_waited_for(
    folder: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "WAIT", 0.01)
    ours, theirs = RUNS[0].name, RUNS[1]

    def rule(job: Job, number: int) -> str:
        if job.name == theirs.name:  # the other study finishes it meanwhile
            path = folder.run_folder(theirs)
            path.mkdir(exist_ok=True)
            mark_finished(path, theirs.identifier)
            return "held"
        return "held" if job.name == ours and number < 4 else "finished"

    script = Script(rule)
    progress, messages = do(folder, script)
    assert (progress.done, progress.failed, progress.retried) == (5, {}, 0)
    assert script.tried[ours] == 4
    assert script.tried[theirs.name] == 1
    assert f"{theirs.name}: finished elsewhere" in messages
    for name in (ours, theirs.name):
        assert messages.count(f"{name}: another process works on it: waiting") == 1


def test_finished_runs_are_not_started(folder: StudyFolder) -> None:
    for run in RUNS:
        folder.run_folder(run).mkdir()
        mark_finished(folder.run_folder(run), run.identifier)
    script = Script(lambda job, number: "failed")
    progress, _ = do(folder, script)
    assert (progress.done, script.tried) == (5, Counter())


def test_an_interruption_stops_the_executor(folder: StudyFolder) -> None:
    def rule(job: Job, number: int) -> str:
        raise KeyboardInterrupt

    script = Script(rule)
    with pytest.raises(KeyboardInterrupt):
        do(folder, script)
    assert script.stopped
