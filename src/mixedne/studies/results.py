"""``mixedne.results``: the evaluation tables of many runs as one.

A study's data set is the ``evaluation.parquet`` files of its runs. Each is replaced whole, so the
set can be read while the study runs. Runs are known by the hash of their configuration: the same
run from two folders or machines counts once.
"""

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.config import Config
from mixedne.config.identity import CONFIG_FIELDS, identifier
from mixedne.errors import InvalidInputError, check_choice
from mixedne.evaluation.statistics import METHOD, TASK, shift_columns
from mixedne.evaluation.table import SCHEMA, read_table
from mixedne.studies.store import EVALUATION, StudyFolder
from mixedne.tasks.toy import NOMINAL_RHO

EPISODE = ("identifier", *shift_columns(SCHEMA), "episode", "episode_seed")
"""The columns that tell an episode from all others."""


def results(
    *paths: str | Path, study: str | None = None, settings: Sequence[str] = ()
) -> pl.DataFrame:
    """The evaluation tables of all runs in these folders: one row per episode, none twice.

    Args:
      paths: study folders, folders of run folders, or run folders. Where two hold the same
        episode, the first one's row counts.
      study: only the runs of this study, as its folder's plan has them.
      settings: fields of the configuration to add as columns, e.g. ``["sigma0", "sigma"]``.
    """
    if not paths:
        raise InvalidInputError("results need at least one folder")
    for name in settings:
        check_choice("a field of the configuration", name, CONFIG_FIELDS)
    wanted = None if study is None else _planned(map(Path, paths), study)
    files: list[Path] = []
    rows: list[dict[str, Any]] = []
    for folder in (folder for path in paths for folder in run_folders(Path(path))):
        fields = _configuration(folder)
        found = None if fields is None else identifier(fields)
        if fields is None or (wanted is not None and found not in wanted):
            continue
        files.append(folder / EVALUATION)
        rows.append({"identifier": found, **{name: fields.get(name) for name in settings}})
    return _collect(files, rows, settings)


def run_folders(path: Path) -> Iterator[Path]:
    """The evaluated run folders at a path."""
    if not path.is_dir():
        raise InvalidInputError(f"there is no folder {path}")
    if (path / "config.json").is_file():
        inside = [path]
    else:
        runs = path / "runs" if (path / "runs").is_dir() else path
        inside = sorted(runs.iterdir())
    for folder in inside:
        if ".damaged-" not in folder.name and (folder / EVALUATION).is_file():
            yield folder


def nominal_rows(table: pl.DataFrame) -> pl.DataFrame:
    """The episodes in worlds as they were trained in."""
    rho = pl.col("rho")
    return table.filter(
        pl.col("mass") == 1,
        pl.col("friction") == 1,
        pl.col("noise") == 0,
        rho.is_null() | (rho == NOMINAL_RHO),
        pl.col("body_masses").is_null() & pl.col("geom_frictions").is_null(),
    )


def summarise(table: pl.DataFrame, settings: Mapping[str, str] | None = None) -> pl.DataFrame:
    """One row per task and method: its return in the nominal world, over all shifts, at the worst.

    Episodes are averaged within a run and shift first, then shifts within a run, then runs. Runs
    with other ``settings``, words by identifier, have a row of their own.
    """
    key = [*TASK, *METHOD, "settings", "acting"]
    words = pl.col("identifier").replace_strict(settings or {}, default="", return_dtype=pl.String)
    table = table.with_columns(settings=words)
    mean = pl.col("return").mean()
    by_shift = table.group_by(*key, "identifier", *shift_columns(table.columns)[:-1]).agg(mean)
    by_run = by_shift.group_by(*key, "identifier").agg(
        mean.alias("mean"), pl.col("return").min().alias("worst")
    )
    nominal = nominal_rows(table).group_by("identifier", "acting").agg(mean.alias("nominal"))
    whole = by_run.join(nominal, on=["identifier", "acting"], how="left", nulls_equal=True)
    values = pl.col("nominal", "mean", "worst").mean()
    return whole.group_by(key).agg(pl.len().alias("runs"), values).sort(key)


def _collect(
    files: Sequence[Path], rows: Sequence[dict[str, Any]], settings: Sequence[str]
) -> pl.DataFrame:
    """Read all files, and add to each row what is known of its run."""
    added = [name for name in dict.fromkeys(settings) if name not in SCHEMA]
    columns = ["identifier", *SCHEMA, *added]
    if not files:
        types = {name: _setting_type(name) for name in added}
        return pl.DataFrame(schema={"identifier": pl.String, **SCHEMA, **types})
    names = [str(file) for file in files]
    known = pl.DataFrame(
        [{"file": n, **row} for n, row in zip(names, rows, strict=True)], infer_schema_length=None
    )
    table = _read(names).join(
        known.select("file", *(name for name in known.columns if name in columns)),
        on="file",
        maintain_order="left",
        suffix="_set",
    )
    return table.select(columns).unique(EPISODE, keep="first", maintain_order=True)


def _setting_type(name: str) -> Any:
    """The type of a column for a field of the configuration."""
    default = Config.__dataclass_fields__[name].default
    return pl.Float64 if default is None else pl.Series([default]).dtype


def _read(names: list[str]) -> pl.DataFrame:
    """All tables at once; one by one if one of them is damaged, which is left out."""
    wanted = [*SCHEMA, "file"]
    try:
        return pl.read_parquet(names, glob=False, include_file_paths="file").select(wanted)
    except (OSError, pl.exceptions.PolarsError):
        tables = []
    for name in names:
        try:
            tables.append(read_table(Path(name)).with_columns(file=pl.lit(name)))
        except InvalidInputError as error:
            warnings.warn(f"{error}; its rows are left out", stacklevel=4)
    return pl.concat(tables) if tables else pl.DataFrame(schema={**SCHEMA, "file": pl.String})


def _configuration(folder: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads((folder / "config.json").read_text())
        identifier(found)
    except (OSError, ValueError, TypeError, KeyError):
        warnings.warn(f"{folder} has no whole config.json; its rows are left out", stacklevel=3)
        return None
    return found


def _planned(paths: Iterable[Path], study: str) -> set[str]:
    """Identifiers of the runs that the folders' plans of a study name."""
    plans = [StudyFolder(path).studies / f"{study}.json" for path in paths]
    there = [plan for plan in plans if plan.is_file()]
    if not there:
        raise InvalidInputError(f"there is no study {study} in {plans[0].parent}")
    return {identifier for plan in there for identifier in _identifiers(plan)}


def _identifiers(plan: Path) -> list[str]:
    try:
        return [run["identifier"] for run in json.loads(plan.read_bytes())["runs"]]
    except (OSError, ValueError, TypeError, KeyError):
        raise InvalidInputError(
            f"the plan {plan} cannot be read: start the study again, which writes it anew"
        ) from None
