"""Reading run folders: which policies there are, and how they were trained.

The last policy is in the folder itself, the best one in ``best/``, and those of earlier
checkpoints, if they are kept, in ``policies/step-…/``.
"""

import contextlib
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mixedne.errors import InvalidInputError
from mixedne.files import digest, read_json
from mixedne.metrics import read_metrics
from mixedne.names import STRENGTHS
from mixedne.policies import saved_step

PROVENANCE = {
    "agent": str,
    "solver": str,
    "formulation": str,
    "delta": float,
    "strength": float,
    "preset": str,
    "train_seed": int,
    "steps": int,
}
"""Columns about how a policy was trained; null if unknown."""

BEST, KEPT = "best", "policies"
"""Subfolders of a run for its best policy, and for those of earlier checkpoints."""


def kept_name(step: int) -> str:
    """The name of the subfolder of ``KEPT`` for the policies of a step."""
    return f"step-{step:012d}"


def kept_folders(run: Path) -> dict[int, Path]:
    """The subfolders of ``KEPT`` by step, the oldest first, with or without policies in them."""
    found = {int(path.name[5:]): path for path in (run / KEPT).glob(f"step-{'[0-9]' * 12}")}
    return dict(sorted(found.items()))


def kept_steps(run: Path) -> dict[int, Path]:
    """The folders of the kept policies, by step, the oldest first."""
    folders = kept_folders(run).items()
    return {step: path for step, path in folders if (path / "policy.safetensors").is_file()}


def policy_folder(run: Path, at: str | int) -> Path:
    """The folder of a run's policy: the ``last``, the ``best``, or that of a step."""
    if at == "last":
        if is_run(run) and not any(run.glob("policy.*")):
            raise InvalidInputError(
                f"there is no policy at {run} yet: the first comes with the run's first checkpoint"
            )
        return run
    if not is_run(run):
        raise InvalidInputError(
            f"at chooses among the policies of a run folder, which {run} is not"
        )
    if at == "best":
        if (run / BEST / "best.json").is_file():
            return run / BEST
        raise InvalidInputError(
            f"{run} has no best policy: the run's own evaluations (evaluate_every) choose it, "
            "and there was none yet"
        )
    if re.fullmatch(r"\d{1,15}", str(at)) is None:
        raise InvalidInputError(f"at must be best, last or a step, not {at!r}")
    kept = kept_steps(run)
    if int(at) == last_step(run) and int(at) not in kept:
        return run
    if int(at) not in kept:
        there = f"there are those of {', '.join(map(str, kept))}" if kept else "none are kept"
        raise InvalidInputError(
            f"{run} has no policy of step {at}: {there} (keep_policies), besides best and last"
        )
    return kept[int(at)]


def is_run(path: Path) -> bool:
    """Whether a folder is that of a run (or a case study), even if one of its files is missing."""
    return (path / "config.json").exists() or (path / "metrics.jsonl").exists()


def last_step(run: Path) -> int | None:
    """The step of a run's last checkpoint; None if it has none, as runs of other programs."""
    steps = (re.fullmatch(r"step-(\d{12,})", path.stem) for path in run.glob("checkpoint/step-*"))
    return max((int(step[1]) for step in steps if step), default=None)


def run_of(path: Path) -> tuple[Path | None, str]:
    """The run that a policy's folder belongs to, and the policy's name there."""
    path = path.resolve()
    if is_run(path):
        return path, path.name
    if path.name == BEST and is_run(path.parent):
        return path.parent, f"{path.parent.name}@best"
    if path.parent.name == KEPT and is_run(path.parents[1]):
        return path.parents[1], f"{path.parents[1].name}@{path.name[5:].lstrip('0') or '0'}"
    return None, path.name


def read_provenance(run: Path, folder: Path) -> dict[str, Any]:
    """How the policy in a folder of a run was trained."""
    config = run / "config.json"
    said = read_json(config, warn=False)
    try:
        if "agent" not in said:
            raise ValueError("a file of another kind")
        strength = said.get(STRENGTHS.get(str(said.get("formulation")), "delta"))
        known = {**said, "strength": strength, "train_seed": said.get("seed")}
        return as_provenance({**known, "steps": _trained_steps(run, folder, said.get("steps"))})
    except InvalidInputError:
        raise
    except (ValueError, TypeError, OverflowError):
        raise InvalidInputError(f"{config} is damaged: it is no run's configuration") from None


def as_provenance(said: Mapping[str, Any]) -> dict[str, Any]:
    """The values of ``PROVENANCE`` in their types; None for missing ones."""
    return {
        name: None if said.get(name) is None else kind(said[name])
        for name, kind in PROVENANCE.items()
    }


def _trained_steps(run: Path, folder: Path, planned: Any) -> Any:
    """The number of training steps of the policy in this folder."""
    if (saved := saved_step(folder)) is not None:
        return saved
    # Policies of older versions do not store it.
    if folder.resolve() == run:
        step = last_step(run)
        with contextlib.suppress(InvalidInputError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of older versions
            # A finished run may have lost its last checkpoint.
            step = planned if any(line["step"] == planned for line in read_metrics(run)) else step
        return planned if step is None else step
    if folder.name == BEST:
        said, policy = read_json(folder / "best.json", warn=False), folder / "policy.safetensors"
        # It may belong to another policy, if the process was killed in between.
        is_other = said.get("safetensors_sha256") not in (None, digest(policy))
        return None if is_other else said.get("step")
    return int(folder.name[5:])
