"""Damaged files: every reader refuses them, repairs them, or gives the undamaged result.

Survived is one sentence with exit code 2 (of a study also 1, if a run could not be repaired); or
exit code 0 with the undamaged result; or, of reports and tables of many runs, a sentence that says
what is left out. Metrics that have lost their last lines look like those of a run that is not as
far, unless the run has ``finished.json``: these are counted as unfinished.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import mixedne
from chaos import subjects
from chaos.suite import UNFINISHED, Answer, Family, command
from mixedne.errors import InvalidInputError
from mixedne.policies import load_policy


def flip_bit(path: Path, chance: Random) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def truncate(path: Path, chance: Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content) or 1)])


def zero_block(path: Path, chance: Random) -> None:
    content = bytearray(path.read_bytes())
    first, size = chance.randrange(len(content) or 1), 2 ** chance.randrange(13)
    stop = min(len(content), first + size)
    content[first:stop] = bytes(stop - first)
    path.write_bytes(content)


def delete(path: Path, chance: Random) -> None:
    path.unlink()


def append(path: Path, chance: Random) -> None:
    with path.open("ab") as file:
        file.write(chance.choice((b"\n", b"}", b"rubbish\n", chance.randbytes(50))))


def exchange(path: Path, chance: Random) -> None:
    """With another file: often one of the same name, if there is one."""
    root = next(parent for parent in path.parents if parent.name == "subject")
    files = [other for other in files_in(root) if other != path]
    alike = [other for other in files if other.name == path.name]
    other = chance.choice(alike if alike and chance.random() < 0.7 else files)
    content = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(content)


def empty_folder(path: Path, chance: Random) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: tuple[Callable[[Path, Random], None], ...] = (
    *(flip_bit, flip_bit, truncate, zero_block, delete, append, exchange, empty_folder),
)


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


class Damage(Family):
    """Every kind of file of a finished run, an interrupted run and a study; all that reads them."""

    name, attempts = "damage", 1000

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.file = folder / "mine.toml"
        subjects.make_finished(folder / "finished")
        subjects.make_interrupted(folder / "interrupted")
        subjects.make_study(self.file, folder / "study")
        self.whole: dict[str, dict[str, Any]] = {}
        """By kind of subject: what each reader gives if nothing is damaged."""

    def attempt(self, number: int, chance: Random, work: Path) -> str:
        kind = ("finished", "interrupted", "study")[number % 3]
        if kind not in self.whole:
            subjects.fresh_copy(self.folder / kind, work / "subject")
            self.whole[kind] = {
                name: read(self, work) for name, read in READERS.items() if kind in name
            }
        subject = subjects.fresh_copy(self.folder / kind, work / "subject")
        path = chance.choice(files_in(subject))
        damage = chance.choice(DAMAGES)
        before = path.read_bytes()
        damage(path, chance)
        place = path.relative_to(subject)
        self.counts[f"damages to {kind}"] += 1
        outcomes = set()
        for name, whole in self.whole[kind].items():
            self.doing = f"{damage.__name__} of {place} of {kind}, then {name}"
            metrics = path if path.name == "metrics.jsonl" and kind != "study" else None
            lost = metrics is not None and (
                not path.is_file() or subjects.lost_its_end(path.read_bytes(), before)
            )
            # A run of no study has nothing that tells of a table that is gone.
            lost |= path.name == "evaluation.parquet" and not path.exists() and kind != "study"
            try:
                found = READERS[name](self, work)
            except InvalidInputError:
                found = "refused"
            if isinstance(found, Reported) and found.missing != whole.missing:
                found = "left out"
            if found in (whole, "refused", "left out"):
                outcomes.add(found if isinstance(found, str) else "undamaged result")
            else:
                assert lost, f"another result in silence:\n{different(found, whole)[:1500]}"
                outcomes.add(UNFINISHED)
        ranked = (UNFINISHED, "refused", "left out", "undamaged result")
        return next(outcome for outcome in ranked if outcome in outcomes)


def different(found: Any, whole: Any) -> str:
    """Where two results differ, in a few lines."""
    if isinstance(found, dict) and isinstance(whole, dict):
        names = [name for name in {*found, *whole} if found.get(name) != whole.get(name)]
        return "\n".join(f"{n}: {different(found.get(n), whole.get(n))}" for n in sorted(names))
    if isinstance(found, list | tuple) and len(found) == len(whole):
        pairs = zip(found, whole, strict=True)
        return "\n".join(different(a, b) for a, b in pairs if a != b)
    if isinstance(found, str) and isinstance(whole, str):
        pairs = zip(found, whole, strict=False)
        start = max(0, next((at for at, (a, b) in enumerate(pairs) if a != b), 0) - 50)
        found, whole = found[start:], whole[start:]
    return f"{str(found)[:200]} instead of {str(whole)[:200]}"


class Reported(NamedTuple):
    """What a report says is missing, its JSON document and its page."""

    missing: list[str]
    document: dict[str, Any]
    page: str


# -- readers: what they give, "refused" or "left out" --------------------------------------------


def _answer(answer: Answer, *codes: int) -> str | None:
    return "refused" if answer.is_refusal(*codes) else None


def read_policy(family: Damage, work: Path) -> Any:
    policy = load_policy(work / "subject")
    return policy.spec, {name: tensor.tobytes() for name, tensor in policy.tensors.items()}


def read_results(family: Damage, work: Path) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = mixedne.results(work / "subject").drop("versions")
    return "left out" if caught else table.to_dict(as_series=False)


def read_report(family: Damage, work: Path) -> Any:
    answer, document, page = subjects.report(work / "subject", work / "page.html")
    if answer.is_refusal(2):
        return "refused"
    return Reported(document["missing"], document, page)


def evaluate_elsewhere(family: Damage, work: Path) -> Any:
    out = work / "table.parquet"
    answer = command("evaluate", work / "subject", *subjects.GRID, "--out", out, "--overwrite")
    return _answer(answer, 2) or (answer.stdout, _rows(out))


def evaluate_best(family: Damage, work: Path) -> Any:
    out, best = work / "table.parquet", ("--at", "best")
    answer = command(
        "evaluate", work / "subject", *best, *subjects.GRID, "--out", out, "--overwrite"
    )
    return _answer(answer, 2) or (answer.stdout, _rows(out))


def evaluate_more(family: Damage, work: Path) -> Any:
    """Into the run's own table."""
    answer = command("evaluate", work / "subject", "--mass", "2", "--episodes", "1", "--json")
    table = work / "subject" / "evaluation.parquet"
    return _answer(answer, 2) or (answer.stdout, _rows(table))


def resume(family: Damage, work: Path) -> Any:
    return _answer(subjects.train(work / "subject"), 2) or subjects.outcome(work / "subject")


def repeat_study(family: Damage, work: Path) -> Any:
    out = work / "subject"
    if subjects.study(family.file, out).is_refusal(1, 2):
        again = subjects.study(family.file, out, "--retrain-damaged")
        if again.is_refusal(1, 2):
            family.counts["studies that stay refused"] += 1
            return "refused"
        family.counts["studies retrained when asked"] += 1
    return subjects.study_outcome(out)


def _rows(table: Path) -> dict[str, Any]:
    return subjects.table_of(table).to_dict(as_series=False)


READERS: dict[str, Callable[[Damage, Path], Any]] = {
    "load_policy (finished, interrupted)": read_policy,
    "results (finished, study)": read_results,
    "report (finished, interrupted, study)": read_report,
    "evaluate elsewhere (finished, interrupted)": evaluate_elsewhere,
    "evaluate --at best (finished, interrupted)": evaluate_best,
    "evaluate (finished, interrupted)": evaluate_more,
    "train --resume (finished, interrupted)": resume,
    "study (study)": repeat_study,
}
"""In this order, because the last ones repair."""
