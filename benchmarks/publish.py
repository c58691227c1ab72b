"""Copy the finished runs of a study folder into a smaller one that is kept with the project.

    python benchmarks/publish.py STUDY_FOLDER [--out results/reproduction]

Of each run: configuration, policy, evaluation table, and metrics thinned to a training line every
``--every`` steps. ``finished.json`` is written anew, with the digests of these files. The result
is a study folder: ``mixedne study --out``, ``mixedne.results`` and ``mixedne report`` read it as it
is, and count its runs as finished. Runs that are there already, whole and with as many evaluations,
are left alone.
"""

import argparse
import json
import shutil
from pathlib import Path

from mixedne.files import new_folder, write_beside
from mixedne.metrics import FILE, format_line, read_metrics
from mixedne.studies.folder import (
    CONFIG,
    EVALUATION,
    FINISHED,
    StudyFolder,
    mark_finished,
    plan_text,
    read_config,
    read_finished,
)

KEPT = ("policy.json", "policy.safetensors", EVALUATION, CONFIG)


def publish(source: Path, out: Path, every: int) -> int:
    """Copy what is finished and not there yet; the number of runs copied."""
    published = StudyFolder(out)
    published.create()
    for file in sorted((source / "studies").glob("*.json")):
        if file.stem.endswith("-chosen"):
            published.write(file.name, file.read_text())
        else:
            publish_plan(file, published)
    copied = 0
    for run in sorted((source / "runs").iterdir()):
        made, there = read_finished(run), read_finished(published.runs / run.name)
        if made is None or made.damaged or not made.evaluations:
            continue
        if there is None or there.damaged or not there.evaluations >= made.evaluations:
            if there and not there.evaluations <= made.evaluations:
                raise ValueError(f"the published {run.name} has evaluations that {run} lacks")
            with new_folder(published.runs / run.name, mark=FINISHED, overwrite=True) as folder:
                copy_run(run, folder, every)
            copied += 1
    return copied


def publish_plan(plan: Path, published: StudyFolder) -> None:
    """Copy a plan; runs that were published stay in it, because options make a plan shorter."""
    old, study = published.studies / plan.name, plan.stem
    found = [json.loads(path.read_text())["runs"] for path in (old, plan) if path.is_file()]
    runs = {run["identifier"]: run for part in found for run in part}
    # The command as it was typed has a path of this machine.
    published.write(plan.name, "".join(plan_text(study, f"mixedne study {study}", runs.values())))


def copy_run(run: Path, folder: Path, every: int) -> None:
    """Copy one run."""
    made = read_finished(run)
    if made is None:
        raise ValueError(f"{run} is not finished")
    for name in KEPT:
        shutil.copyfile(run / name, folder / name)
    checksum, text = 0, ""
    for line in read_metrics(run):
        if line["kind"] != "training" or line["step"] % every == 0:
            del line["format_version"]
            written, checksum = format_line(line, checksum)
            text += written
    with write_beside(folder / FILE) as temporary:
        temporary.write_text(text)
    mark_finished(folder, read_config(run)["identifier"], made.evaluations)


def main() -> None:
    """Read the options, publish, and say how large the result is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/reproduction"))
    parser.add_argument("--every", type=int, default=10_000, help="steps between training lines")
    arguments = parser.parse_args()
    copied = publish(arguments.folder, arguments.out, arguments.every)
    files = [path for path in arguments.out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 2**20
    print(f"{copied} runs copied; {arguments.out} holds {len(files)} files, {size:.1f} MiB")


if __name__ == "__main__":
    main()
