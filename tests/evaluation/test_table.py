"""Tables with a column for each shift, older tables, joining them, and damage to them."""

import errno
import json
import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from mixedne import InvalidInputError, files
from mixedne.evaluation import sweep
from mixedne.evaluation import table as table_module
from mixedne.evaluation.grids import Grid
from mixedne.evaluation.handles import find_policy
from mixedne.evaluation.sweep import evaluate
from mixedne.evaluation.table import (
    SCHEMA,
    _warn_of_no_checksum,
    concat_tables,
    has_evaluation,
    join_tables,
    read_table,
    write_table,
)
from mixedne.policies import save_policy
from mixedne.tasks import resolve_task
from probes.policies import random_policy
from probes.tables import evaluate_a_hundred_times

PENDULUM = "InvertedPendulum-v5"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    save_policy(tmp_path / "run", random_policy(PENDULUM))
    return tmp_path / "run"


def test_every_axis_used_has_a_column(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.parquet"
    table = evaluate(
        run, shifts={"gravity": [0.5, 1], "mass[pole]:abs": [3.0]}, out=out, episodes=1
    )
    assert [name for name in table.columns if name not in SCHEMA] == ["mass[pole]:abs", "gravity"]
    assert table["gravity"].to_list() == [0.5, 1.0]
    assert table["mass[pole]:abs"].to_list() == [3.0, 3.0]
    assert table["mass"].to_list() == [1.0, 1.0]
    assert read_table(out).equals(table)


def test_joined_tables_have_all_columns(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "evaluation.parquet"
    options: dict[str, Any] = {"episodes": 1, "out": out, "join": True}
    evaluate(run, mass=[1.0, 2.0], **options)
    evaluate(run, shifts={"gravity": [0.5, 1.0]}, **options)
    evaluate(run, shifts={"mass[pole]:abs": 3.0}, **options)
    table = read_table(out)
    # The nominal episode is there once, whether gravity was named or not.
    keys = ["mass", "mass[pole]:abs", "gravity"]
    assert sorted(table.select(keys).rows(), key=str) == [
        (1.0, 3.0, 1.0),
        (1.0, None, 0.5),
        (1.0, None, 1.0),
        (2.0, None, 1.0),
    ]
    policy, axes = find_policy(run), resolve_task(PENDULUM).axes
    grids = [Grid(mass=[1, 2]), Grid({"gravity": [0.5, 1]}), Grid({"mass[pole]:abs": 3.0})]
    lacking = [Grid(mass=3), Grid({"gravity": 0.7}), Grid({"mass[cart]": 2.0}), Grid(episodes=2)]
    for grid, there in [*((g, True) for g in grids), *((g, False) for g in lacking)]:
        asked = Grid(grid.axes, episodes=2 if grid.episodes == 2 else 1)
        assert has_evaluation(table, policy, asked, axes) == there


def test_joining_keeps_the_rows_of_another_policy_in_memory(tmp_path: Path) -> None:
    out = tmp_path / "evaluation.parquet"
    for seed in (0, 1, 1):
        evaluate(random_policy(PENDULUM, seed=seed), PENDULUM, episodes=2, out=out, join=True)
    table = read_table(out)
    assert table["policy"].value_counts()["count"].to_list() == [2, 2]


def test_a_small_file_of_very_many_rows_is_not_read(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compression makes 12 kB of 8 million equal rows, and reading them 2.4 GB."""
    monkeypatch.setattr(table_module, "MAX_ROWS", read_table(out).height - 1)
    with pytest.raises(InvalidInputError, match="is damaged or no evaluation table"):
        read_table(out)


def test_an_older_table_is_read_and_joined(run: Path, tmp_path: Path) -> None:
    """Until now, single bodies and geoms were texts such as cart=3.0,pole=2.0."""
    out = tmp_path / "evaluation.parquet"
    new = evaluate(run, mass=[1.0, 2.0, 3.0], episodes=1)
    texts = [None, "cart=3.0,pole=2.0", None]
    old = new.with_columns(
        pl.Series("body_masses", texts, pl.String),
        pl.Series("geom_frictions", [None, None, "rail=0.5"], pl.String),
    )
    write_table(old, out)
    read = read_table(out)
    assert read["mass[cart]"].to_list() == [1.0, 3.0, 1.0]
    assert read["mass[pole]"].to_list() == [1.0, 2.0, 1.0]
    assert read["friction[rail]"].to_list() == [1.0, 1.0, 0.5]
    assert read.select(list(SCHEMA)).equals(new)
    assert join_tables(read, new.head(1)).height == 3
    assert has_evaluation(read, find_policy(run), Grid(mass=1, episodes=1), ["mass"])
    assert not has_evaluation(read, find_policy(run), Grid(mass=2, episodes=1), ["mass"])


def test_an_older_table_says_the_strength_by_delta(run: Path, tmp_path: Path) -> None:
    new = evaluate(run, episodes=1).with_columns(delta=0.2, strength=0.2)
    write_table(new.drop("strength"), tmp_path / "evaluation.parquet")
    assert read_table(tmp_path / "evaluation.parquet").equals(new)


def test_tables_without_an_axis_are_nominal_along_it(run: Path) -> None:
    first = evaluate(run, shifts={"action-delay": 2}, episodes=1)
    second = evaluate(run, shifts={"mass[pole]:abs": 2.0}, episodes=1)
    whole = concat_tables([first, second])
    assert whole["action-delay"].to_list() == [2.0, 0.0]
    assert whole["mass[pole]:abs"].to_list() == [None, 2.0]


def test_a_grid_of_old_axes_is_stored_as_ever() -> None:
    """The hash of an evaluation in a study is made from this text."""
    grid = Grid(mass=(0.5, 1.0), episodes=2, seed=7)
    assert json.dumps(grid.to_json(), sort_keys=True) == (
        '{"body_masses": [], "episodes": 2, "friction": [1.0], "geom_frictions": [], '
        '"mass": [0.5, 1.0], "mass_mode": "reference", "noise": [0.0], "rho": null, "seed": 7, '
        '"stochastic": false}'
    )


@pytest.mark.parametrize(
    "grid",
    [
        Grid(),
        Grid(rho=[0.2]),
        Grid(mass="paper", mass_mode="consistent", stochastic=True),
        Grid({"mass[torso]": [0.5, 2], "gravity:abs": 1.62, "action-delay": [0, 3]}, noise=0.1),
    ],
    ids=str,
)
def test_a_grid_survives_json(grid: Grid) -> None:
    assert Grid.from_json(json.loads(json.dumps(grid.to_json()))) == grid


def test_a_grid_stored_with_single_bodies_is_read() -> None:
    stored = {**Grid().to_json(), "body_masses": [["torso", 2.0]]}
    assert Grid.from_json(stored) == Grid({"mass[torso]": 2.0})


# -- what is on disk is what was written ---------------------------------------------------------


@pytest.fixture
def out(run: Path, tmp_path: Path) -> Path:
    """A table of two episodes."""
    evaluate(run, mass=[0.5, 1.0], episodes=1, out=tmp_path / "evaluation.parquet")
    return tmp_path / "evaluation.parquet"


@pytest.mark.slow
def test_no_damage_to_a_table_goes_unnoticed(out: Path) -> None:
    """A bit of every byte flipped; without its seal, a file is taken for an older one's."""
    whole, random = out.read_bytes(), np.random.default_rng(0)
    table_module._warn_of_no_checksum.cache_clear()  # it warns once
    assert read_table(out).height == 2
    for place, bit in enumerate(random.integers(8, size=len(whole))):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(bit)
        out.write_bytes(damaged)
        with pytest.raises((InvalidInputError, UserWarning), match=r"damaged|no checksum"):
            read_table(out)
    for length in (0, 4, len(whole) // 2, len(whole) - 1):
        out.write_bytes(whole[:length])
        with pytest.raises(InvalidInputError, match=f"{out} is damaged or no evaluation table"):
            read_table(out)


@pytest.mark.parametrize("cell", [{"mass": 6e-312}, {"train_seed": 65536}, {"return": 9.9}])
def test_an_altered_cell_is_refused(cell: dict[str, Any], out: Path) -> None:
    metadata = pl.read_parquet_metadata(out)
    table = pl.read_parquet(out).with_columns(
        pl.lit(value, SCHEMA[name]).alias(name) for name, value in cell.items()
    )
    kept = {name: metadata[name] for name in ("format_version", "checksum")}
    table.write_parquet(out, metadata=kept)
    with pytest.raises(InvalidInputError, match="is damaged or no evaluation table"):
        read_table(out)


def test_tables_of_older_versions_are_read_with_one_warning(out: Path) -> None:
    table = read_table(out)
    files.write_table(table, out)
    _warn_of_no_checksum.cache_clear()
    with pytest.warns(UserWarning, match="of an older version have no checksum"):
        assert read_table(out).equals(table)
    read_table(out)  # another warning would be an error


class Panic(BaseException):
    """As pyo3's PanicException, no ``Exception``."""


@pytest.mark.parametrize(
    "error", [Panic("unwrap on None"), pl.exceptions.ComputeError("bad"), MemoryError()]
)
def test_whatever_polars_raises_is_one_sentence(
    error: BaseException, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: Any, **options: Any) -> Any:
        raise error

    monkeypatch.setattr(pl, "read_parquet", fails)
    with pytest.raises(InvalidInputError, match=f"{out} is damaged or no evaluation table"):
        read_table(out)
    monkeypatch.setattr(pl, "read_parquet", lambda *_: pl.DataFrame({"run": [1]}))
    with pytest.raises(InvalidInputError, match="is damaged or no evaluation table"):
        read_table(out)
    error = KeyboardInterrupt()
    monkeypatch.setattr(pl, "read_parquet", fails)
    with pytest.raises(KeyboardInterrupt):
        read_table(out)


def test_a_full_disk_is_one_sentence_and_leaves_nothing_half_written(
    run: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = out.read_bytes()
    (out.parent / ".evaluation-0123456789abcdef.parquet").touch()  # of a process that was killed

    def fills_up(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", fills_up)
        with pytest.raises(
            OSError, match=r"^.*parquet cannot be written: No space left on device$"
        ):
            evaluate(run, mass=2.0, episodes=1, out=out, join=True)
    assert out.read_bytes() == before
    assert not [path for path in out.parent.rglob("*.parquet") if path.name.startswith(".0")]
    evaluate(run, mass=2.0, episodes=1, out=out, join=True)
    assert read_table(out).height == 3
    assert sorted(path.name for path in out.parent.iterdir()) == ["evaluation.parquet", "run"]


def test_a_table_that_appears_meanwhile_is_not_overwritten(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "new.parquet", sweep.run_chunk

    def somebody_else_is_first(*given: Any, **options: Any) -> pl.DataFrame:
        path.write_text("theirs")
        return real(*given, **options)

    monkeypatch.setattr(sweep, "run_chunk", somebody_else_is_first)
    with pytest.raises(InvalidInputError, match="exists: choose another file"):
        evaluate(run, episodes=1, out=path)
    assert path.read_text() == "theirs"


def test_two_evaluations_into_one_table_lose_no_row(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten pairs that begin together; the first to write waits until the second would read."""
    real, both = table_module.write_table, threading.Barrier(2, timeout=300)

    def writes_slowly(table: pl.DataFrame, path: Path) -> None:
        if path.parent == tmp_path:
            time.sleep(0.05)
        real(table, path)

    def runs_together(*given: Any, **options: Any) -> pl.DataFrame:
        both.wait()
        return run_chunk(*given, **options)

    run_chunk = sweep.run_chunk
    monkeypatch.setattr(table_module, "write_table", writes_slowly)
    monkeypatch.setattr(sweep, "run_chunk", runs_together)
    with ThreadPoolExecutor(2) as pool:
        for pair in range(10):
            path = tmp_path / f"{pair}.parquet"
            options: dict[str, Any] = {"episodes": 1, "out": path, "join": True, "threads": 1}
            grids = ([0.5, 1.0], [1.0, 2.0])
            made = [pool.submit(evaluate, run, mass=grid, **options) for grid in grids]
            assert [each.result().height for each in made] == [2, 2]
            assert sorted(read_table(path)["mass"]) == [0.5, 1.0, 2.0]


@pytest.mark.slow
def test_a_hundred_pairs_of_processes_lose_no_row(run: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    both = context.Barrier(2, timeout=300)
    work = [
        context.Process(target=evaluate_a_hundred_times, args=(run, tmp_path, masses, both))
        for masses in ([0.5, 1.0], [1.0, 2.0])
    ]
    for process in work:
        process.start()
    for process in work:
        process.join()
    assert [process.exitcode for process in work] == [0, 0]
    for pair in range(100):
        assert sorted(read_table(tmp_path / f"{pair}.parquet")["mass"]) == [0.5, 1.0, 2.0]
