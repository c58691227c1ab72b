"""What is shipped: the whole package in the wheel, and a lean sdist; see also `make dist`."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mixedne"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return folder


def test_the_wheel_holds_every_file_of_the_package(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert names == {str(path.relative_to(PACKAGE.parent)) for path in files}
    assert "mixedne/py.typed" in names


def test_the_wheel_says_what_it_is(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        (metadata,) = [name for name in file.namelist() if name.endswith("/METADATA")]
        text = file.read(metadata).decode()
    assert "License-Expression: MIT" in text
    assert "https://arxiv.org/abs/2002.06063" in text


def test_the_citation_has_the_version_of_the_package() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_sdist_is_lean_and_whole(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {"README.md", "LICENSE", "CITATION.cff", "pyproject.toml", "mkdocs.yml"} <= names
    assert {"requirements.lock", "tests/conftest.py", "benchmarks/toy_optimum.py"} <= names
    assert not [name for name in names if name.startswith("results/") or name.endswith(".png")]
    assert sdist.stat().st_size < 2_400_000  # of which the zoo may have a million
