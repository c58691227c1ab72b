"""Promises about the package as a whole."""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from mixedne.files import new_folder, write_beside

ROOT = Path(__file__).parents[1]


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["mixedne", "mixedne.cli.main", "mixedne.reports.saddle"])
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


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    target.write_text("old")
    with contextlib.suppress(RuntimeError), write_beside(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]
    assert target.read_text() == "old"


def test_a_failed_folder_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
    with contextlib.suppress(RuntimeError), new_folder(target, overwrite=True) as temporary:
        (temporary / "new").write_text("half")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert (target / "old").read_text() == "old"


def test_the_lock_names_no_hosts() -> None:
    assert "://" not in (ROOT / "requirements.lock").read_text()
