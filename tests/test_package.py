"""Promises about the package as a whole."""

import contextlib
import errno
import subprocess
import sys
from pathlib import Path

import pytest

from mixedne import InvalidInputError
from mixedne.files import new_folder, write_beside

ROOT = Path(__file__).parents[1]


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    "module", ["mixedne", "mixedne.cli.parse", "mixedne.reports.figures", "mixedne.reports.page"]
)
def test_light_imports_do_not_pull_in_jax(module: str) -> None:
    assert run_python(f"import sys, {module}; print('jax' in sys.modules)") == "False"


def test_importing_changes_no_jax_setting() -> None:
    code = (
        "import jax; before = dict(jax.config.values); "
        "import mixedne.solvers, mixedne.optimizers, mixedne.saddle.experiment; "
        "print(dict(jax.config.values) == before)"
    )
    assert run_python(code) == "True"


def test_parts_are_reachable_from_the_package() -> None:
    assert run_python("import mixedne; print(mixedne.solvers.gad.__name__)") == "gad"
    assert run_python("import mixedne; print('solvers' in dir(mixedne))") == "True"
    code = "import mixedne; print(mixedne.games.parallel_env.__name__)"
    assert run_python(code) == "parallel_env"


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    target.write_text("old")
    with contextlib.suppress(RuntimeError), write_beside(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]
    assert target.read_text() == "old"


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        pytest.raises(OSError, match=r"device: '.*file\.txt'"),
        write_beside(tmp_path / "file.txt"),
    ):
        raise full


def test_a_failed_folder_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
    with (
        contextlib.suppress(RuntimeError),
        new_folder(target, mark="old", overwrite=True) as temporary,
    ):
        (temporary / "new").write_text("half")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert (target / "old").read_text() == "old"


def test_only_a_folder_of_ones_own_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "family").write_text("dear")
    (tmp_path / "link").symlink_to(tmp_path / "photos")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "config.json").write_text("{}")
    attempts = [
        (tmp_path, "photos"),
        (tmp_path, "link"),
        (tmp_path / "own", "."),  # one's own, but in use
        (tmp_path / "own", ".."),
    ]
    for folder, target in attempts:
        monkeypatch.chdir(folder)
        with (
            pytest.raises(InvalidInputError, match="are not overwritten"),
            new_folder(Path(target), mark="config.json", overwrite=True),
        ):
            pass
    assert (tmp_path / "own" / "config.json").exists()
    assert (tmp_path / "photos" / "family").read_text() == "dear"


def test_an_own_folder_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    (tmp_path / "link").symlink_to(target)
    for name in ("first", "second"):
        with new_folder(tmp_path / "link", mark="config.json", overwrite=True) as temporary:
            (temporary / "config.json").write_text(name)
            (temporary / name).write_text(name)
    assert sorted(path.name for path in target.iterdir()) == ["config.json", "second"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link"]


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-extras.lock"])
def test_the_locks_name_no_hosts(lock: str) -> None:
    assert "://" not in (ROOT / lock).read_text()
