"""``mixedne.card``: a run's model card, including its robustness to changed worlds.

A card is a ``README.md`` that starts with metadata in YAML for the Hugging Face hub. Names in it
come from files that are not trusted, so they are written as JSON strings, which are valid YAML,
and in the text without markup.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.errors import InvalidInputError
from mixedne.evaluation.handles import PolicyHandle, find_policy
from mixedne.evaluation.runs import run_of
from mixedne.evaluation.statistics import over_episodes, shift_columns, worst_first
from mixedne.evaluation.table import read_table
from mixedne.files import check_new_file, read_json, write_beside
from mixedne.reports.figures.canvas import save_figure
from mixedne.reports.figures.sweeps import draw_sweeps
from mixedne.reports.inputs.collect import collect
from mixedne.shifts import Axis, is_nominal, shift_axes

TRAINING = ("agent", "solver", "formulation", "delta", "strength", "preset", "steps", "train_seed")
"""Columns of an evaluation table that describe the training in the card."""

MAX_ROWS = 60
"""Maximum number of rows of a table; longer sweeps are thinned to it evenly."""


@dataclass(frozen=True)
class Card:
    """A written model card."""

    path: Path
    figures: tuple[Path, ...]
    mean_return: float
    """The mean return in the nominal world."""


def card(
    run: Any, out: str | Path | None = None, *, at: str | int = "last", overwrite: bool = False
) -> Card:
    """Write a run's model card: a README with metadata for the Hugging Face hub.

    It describes the run's training, its returns in the nominal world and under every shift and
    attack in its evaluation table, with a figure of them. The run must have been evaluated,
    including in the nominal world.

    Args:
      run: a run returned by :func:`mixedne.train`, or a run folder.
      out: file to write; by default ``README.md`` in the policy's folder. Figures go next to it.
      at: which policy of the run: ``"last"``, ``"best"``, or that of a step.
      overwrite: replace the card and its figures if they exist.

    Returns:
      The files written, and the mean return in the nominal world.

    Examples:
      >>> import mixedne
      >>> run = mixedne.train("InvertedPendulum-v5", steps=200, hidden=(8,), out="carded")
      >>> table = run.evaluate(mass=[0.5, 1, 2], out="carded/evaluation.parquet")
      >>> mixedne.card(run).path.read_text().startswith("---")
      True
    """
    handle = find_policy(run, at=at)
    folder = handle.path
    if folder is None or run_of(folder)[0] is None:
        raise InvalidInputError(f"a card is that of a run folder, which {handle.name} is not")
    path = folder / "README.md" if out is None else Path(out)
    check_new_file(path, "the card", ".md", overwrite=overwrite)
    points = _points(folder, handle)
    nominal = points.filter(is_nominal(points.columns))
    if nominal.height != 1:
        raise InvalidInputError(
            f"{folder} has no evaluation in the nominal world: evaluate it there, too"
        )
    figures = {path.with_name(name): figure for name, figure in _draw(folder, handle)}
    for file in figures:
        check_new_file(file, "the figure", ".png", overwrite=overwrite)
    text = "\n".join([*_metadata(handle, nominal), *_text(handle, points, nominal, figures)])
    with write_beside(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    for file, figure in figures.items():
        save_figure(figure, file)
    return Card(path, tuple(figures), float(nominal["mean_return"].item()))


def _points(folder: Path, handle: PolicyHandle) -> pl.DataFrame:
    """One row per world of its task in which the policy was evaluated, and it alone."""
    path = folder / "evaluation.parquet"
    if not path.is_file():
        raise InvalidInputError(f"{folder} is not evaluated yet: evaluate it first")
    table = read_table(path).filter(pl.col("policy") == handle.label)
    if table.is_empty():
        raise InvalidInputError(f"{path} is of another policy: evaluate {folder} again")
    table = table.filter(_own_task(handle))
    for column in ("acting", "mass_mode"):  # of several, the first
        table = table.filter(pl.col(column) == table[column].first())
    axes = shift_columns(table.columns)
    return over_episodes(table, axes).sort(axes)


def _own_task(handle: PolicyHandle) -> pl.Expr:
    """Whether a row is of the policy's task; older policies have its name without the version."""
    is_unknown = pl.lit(handle.task is None)
    return is_unknown | pl.col("task").is_in([handle.task, f"{handle.task}-v5"])


def _draw(folder: Path, handle: PolicyHandle) -> Iterator[tuple[str, Any]]:
    """The figures of the policy's sweeps on its task, with the names of their files."""
    found = collect([folder / "evaluation.parquet"])
    sweeps = found.sweeps.filter(_own_task(handle))
    for number, (_, figure) in enumerate(draw_sweeps(replace(found, sweeps=sweeps), "mean"), 1):
        yield f"robustness-{number}.png", figure


def _metadata(handle: PolicyHandle, nominal: pl.DataFrame) -> Iterator[str]:
    """The metadata for the hub."""
    task, agent = str(handle.task), handle.provenance.get("agent") or "policy"
    value = f"{_number(nominal['mean_return'].item())} +/- {_number(nominal['std_return'].item())}"
    tags = ["reinforcement-learning", "deep-reinforcement-learning"]
    tags += ["robust-reinforcement-learning", task, agent]
    yield from ("---", "library_name: mixedne", "pipeline_tag: reinforcement-learning", "tags:")
    yield from (f"- {json.dumps(tag)}" for tag in tags)
    yield from (
        "model-index:",
        f"- name: {json.dumps(handle.name)}",
        "  results:",
        "  - task:",
        "      type: reinforcement-learning",
        "      name: reinforcement-learning",
        "    dataset:",
        f"      name: {json.dumps(task)}",
        f"      type: {json.dumps(task)}",
        "    metrics:",
        "    - type: mean_reward",
        f"      value: {json.dumps(value)}",
        "      name: mean_reward",
        "      verified: false",
        "---",
        "",
    )


def _text(
    handle: PolicyHandle, points: pl.DataFrame, nominal: pl.DataFrame, figures: Iterable[Path]
) -> Iterator[str]:
    """The text of the card."""
    known = {name: handle.provenance.get(name) for name in TRAINING}
    yield from (f"# {_plain(handle.name)}", "")
    yield f"A policy for {_plain(handle.task)}, trained with mixedne and tested in worlds that"
    yield "differ from its own ([paper](https://arxiv.org/abs/2002.06063))."
    yield from ("", "| training | |", "| --- | --- |")
    for name, value in known.items():
        if value is not None:
            yield f"| {name} | {_plain(value)} |"
    run = run_of(handle.path)[0] if handle.path is not None else None
    said = {} if run is None else read_json(run / "config.json", warn=False)
    if isinstance(said.get("command"), str):
        yield from ("", "```", _plain(said["command"], keep="|_*<>[]"), "```")
    yield from ("", "## Robustness", "")
    yield from _worlds(points, nominal)
    for file in figures:
        yield from (f"![Return under shifts]({file.name})", "")
    yield from ("## Use", "", "```python", "import mixedne", "")
    yield 'policy = mixedne.load_policy("FOLDER")  # of policy.json and policy.safetensors'
    yield from ("actions = policy(observations)", "```")


def _worlds(points: pl.DataFrame, nominal: pl.DataFrame) -> Iterator[str]:
    """Returns in the nominal world, over all worlds, and along every axis."""
    row = nominal.row(0, named=True)
    mean, deviation, low = (_number(row[f"{name}_return"]) for name in ("mean", "std", "worst"))
    yield f"In the nominal world the mean return is **{mean}** ± {deviation} (standard deviation"
    yield f"over {row['episodes']} episodes), the worst {low}."
    if points.height > 1:
        worst = worst_first(points).row(0, named=True)
        place = ", ".join(
            axis.in_words(worst[str(axis)])
            for axis in shift_axes(points.columns)
            if worst[str(axis)] not in (None, axis.nominal)
        )
        yield f"Over all {points.height} worlds it is {_number(points['mean_return'].mean())}, and"
        yield f"{_number(worst['mean_return'])} in the worst ({_plain(place or 'nominal world')})."
    yield ""
    for axis in shift_axes(points.columns):
        own = points.filter(is_nominal(points.columns, but=[str(axis)])).drop_nulls(str(axis))
        if own.height > 1:
            yield from _sweep(axis, own.sort(str(axis)), row["mean_return"])


def _sweep(axis: Axis, rows: pl.DataFrame, nominal: float) -> Iterator[str]:
    """A table of the returns along an axis, with everything else nominal."""
    step = -(-rows.height // MAX_ROWS)
    yield f"| {_plain(axis.label)} | mean return | std | worst | of nominal | episodes |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in rows.gather_every(step).iter_rows(named=True):
        numbers = (row[name] for name in ("mean_return", "std_return", "worst_return"))
        share = row["mean_return"] / nominal if nominal > 0 else math.nan
        kept = f"{100 * share:.0f} %" if math.isfinite(share) else "–"
        values = [f"{row[str(axis)]:g}", *map(_number, numbers), kept, str(row["episodes"])]
        yield f"| {' | '.join(values)} |"
    yield ""


def _number(value: Any) -> str:
    return f"{value:.1f}" if value is not None and math.isfinite(value) else "invalid"


def _plain(value: Any, keep: str = "") -> str:
    """Text without line breaks or anything that Markdown or HTML would interpret."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    text = "".join(c if c.isprintable() and c != "`" else "�" for c in text)
    return re.sub(r"[\\|_*<>\[\]]", lambda c: c[0] if c[0] in keep else f"\\{c[0]}", text)
