"""``mixedne report`` as a user types it."""

import json
from pathlib import Path

import pytest

from mixedne.cli.main import main
from probes.tables import pretend_evaluated, shifts

SWEEP = shifts(mass=(0.5, 1.0, 2.0))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for seed in range(2):
        pretend_evaluated(tmp_path / "runs" / f"gad-{seed}", SWEEP, solver="gad", seed=seed)
    return tmp_path / "runs"


def test_a_page_and_figures(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, figures = runs.parent / "page.html", runs.parent / "figures"
    assert main(["report", str(runs), "--out", str(out), "--figures", str(figures)]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert out.read_text().startswith("<!doctype html>")
    suffixes = {path.suffix for path in figures.iterdir()}
    assert suffixes == {".pdf", ".png"}


def test_one_json_document(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = runs.parent / "page.html"
    assert main(["report", str(runs / "gad-0"), "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["page"] == str(out)
    assert (said["runs"], said["tasks"], said["episodes"]) == (1, 1, 15)
    assert "A single training seed" in " ".join(said["missing"])


def test_nothing_is_overwritten_unless_asked(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = runs.parent / "page.html"
    out.write_text("mine")
    assert main(["report", str(runs), "--out", str(out)]) == 2
    assert "exists: choose another file or pass --overwrite" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert main(["report", str(runs), "--out", str(out), "--overwrite"]) == 0
    assert out.read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "report needs at least one folder or file with results"),
        (["nowhere"], "there is no file or folder nowhere"),
        (["empty"], "empty holds nothing to report"),
        (["empty/notes.txt"], "empty/notes.txt holds nothing to report"),
        (["runs", "--out", "page.pdf"], "the page must be a .html file, not page.pdf"),
        (["runs", "--out", "folder.html"], "the page folder.html is a folder"),
        (["runs", "--figures", "full"], "full is not empty"),
        (["runs", "--figures", "full/notes.txt"], "full/notes.txt is a file"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    arguments: list[str],
    sentence: str,
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(runs.parent)
    for name in ("empty", "full"):
        Path(name).mkdir()
    Path("full/notes.txt").write_text("notes")
    if "notes" in "".join(arguments):
        Path("empty/notes.txt").write_text("notes")
    Path("folder.html").mkdir()
    assert main(["report", *arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.strip().splitlines()) == 1
    assert not Path("report.html").exists()
