"""The command line as a user meets it: real files and, where it matters, real processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from mixedne.cli.console import print_table
from mixedne.cli.main import main
from mixedne.cli.parse import COMMANDS, command_class, parse
from mixedne.saddle import theorems
from mixedne.saddle.objectives import OBJECTIVES
from probes.commands import COMMAND, mixedne
from probes.tables import pretend_evaluated, shifts


def test_saddle_json_keeps_its_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["saddle", "--steps", "5", "--seeds", "2", "--start=-0.2,-0.6", "--json"]) == 0
    done = capsys.readouterr()
    rows = json.loads(done.out)
    assert len(rows) == 3 * 3 * 2
    needed = {"objective", "start", "solver", "inner", "seed", "theta", "omega", "value"}
    needed |= {"distance", "exploitability", "end_exploitability", "escaped"}
    for row in rows:
        assert needed <= set(row)
        assert row["start"] == "-0.2,-0.6"
        assert row["inner"] == ("frozen" if row["solver"] == "mixedne-ld" else None)
        assert (row["escaped"] is None) == (row["objective"] == "x2y2")
        assert row["end_exploitability"] >= 0
        assert row["exploitability"] >= 0
    assert {row["solver"] for row in rows} == {"gad", "eg", "mixedne-ld"}
    assert "Case study 1/3: GAD" in done.err


@pytest.mark.slow
def test_saddle_writes_figures_and_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results"
    cases = ["--objective", "x2y2-xy", "--inner", "both"]
    arguments = ["saddle", *cases, "--steps", "5", "--seeds", "2", "--out", str(out)]
    assert main(arguments) == 0
    assert "MixedNE-LD coupled" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"results"}
    figures = {"x2y2-xy.png", "x2y2-xy.pdf"}
    assert {path.name for path in out.iterdir()} == figures | {
        "results.parquet",
        "paths.parquet",
        "config.json",
    }
    config = json.loads((out / "config.json").read_text())
    assert (config["format_version"], config["kind"]) == (2, "saddle")
    settings = [case["settings"] for case in config["cases"]]
    assert [one["inner_steps"] for one in settings] == [50] * 4
    assert config["settings"] == "paper"
    assert config["versions"]["mixedne"]
    assert pl.read_parquet(out / "results.parquet").height == 4 * 2

    # Nothing is overwritten unless asked.
    before = (out / "config.json").stat().st_mtime_ns
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.endswith("is not empty: choose another or pass --overwrite\n")
    assert (out / "config.json").stat().st_mtime_ns == before
    assert main([*arguments, "--solver", "gad", "--overwrite"]) == 0
    assert (out / "config.json").stat().st_mtime_ns != before


def test_saddle_overwrites_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert main(["saddle", "--steps", "1", "--out", str(tmp_path), "--overwrite"]) == 2
    assert "holds other things" in capsys.readouterr().err
    assert (tmp_path / "config.json").read_text() == "{}"


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            ["--steps", "9" * 20],
            ["--inner-steps", "9" * 20],
            ["--steps", "1000000", "--seeds", "101"],
        ),
        ["--seeds", "1000000"],
    ],
)
def test_case_studies_that_no_machine_holds_are_refused(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["saddle", *wrong]) == 2
    assert "must be at most" in capsys.readouterr().err


@pytest.mark.slow
def test_saddle_with_the_authors_settings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = ["saddle", "--settings", "authors", "--steps", "5", "--seeds", "2"]
    assert main([*given, "--start", "both", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 3 * 2 * 3 * 2
    starts = {(row["objective"], row["start"]): row["start_theta"] for row in rows}
    assert starts["xy-x2y2", "near"] == -0.2
    assert round(starts["x2y2-xy", "near"], 3) == -0.282
    assert {row["inner"] for row in rows} == {None, "coupled"}
    cases = parse([*given, "--objective", "x2y2"]).cases()
    rates = {case.solver: case.settings.learning_rate for case in cases}
    assert rates == {"gad": 0.05, "eg": 0.1, "mixedne-ld": 0.1}
    out = tmp_path / "authors"
    assert main([*given, "--objective", "x2y2", "--solver", "gad", "--out", str(out)]) == 0
    config = json.loads((out / "config.json").read_text())
    assert config["settings"] == "authors"
    assert [case["settings"]["learning_rate"] for case in config["cases"]] == [0.05]

    # Options that are given win; the noise scale is also found under its former name.
    frozen = parse([*given, "--inner", "frozen", "--learning-rate", "0.3"]).cases()
    assert {case.inner for case in frozen} == {None, "frozen"}
    assert {case.settings.learning_rate for case in frozen} == {0.3}
    scaled, formerly = (parse([*given, name, "0.2"]) for name in ("--noise-scale", "--temperature"))
    assert scaled == formerly != parse(given)
    assert {case.settings.noise_scale for case in scaled.cases()} == {0.2}


def test_the_same_seed_gives_the_same_bits(capsys: pytest.CaptureFixture[str]) -> None:
    case = ["--objective", "x2y2", "--solver", "mixedne-ld", "--steps", "10", "--seeds", "2"]
    printed = []
    for more in ([], [], ["--first-seed", "2"]):
        assert main(["saddle", *case, *more, "--json"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != printed[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["saddle", "--objective", "x2y2xy"], "did you mean 'x2y2-xy'?"),
        (["saddle", "--start", "3,0"], "start must lie in the box [-2, 2]², not at (3, 0)"),
        (["saddle", "--start", "there"], "start must be far, near, both or two numbers"),
        (["saddle", "--solver", "sgd"], "solver must be one of gad, eg, mixedne-ld, all"),
        (
            ["saddle", "--inner", "thawed"],
            "inner must be one of frozen, coupled, both, not 'thawed'",
        ),
        (["saddle", "--inner-steps", "0"], "inner_steps must be at least 1, not 0"),
        (["saddle", "--noise-scale", "-1"], "noise_scale must be at least 0, not -1.0"),
        (["saddle", "--damping", "0"], "damping must be above 0, not 0.0"),
        (["saddle", "--damping", "1.5"], "damping must be at most 1, not 1.5"),
        (["saddle", "--seeds", "0"], "seeds must be at least 1, not 0"),
        (["saddle", "--first-seed", "-1"], "first_seed must be at least 0, not -1"),
        (["saddle", "--steps", "many"], "--steps: must be a whole number, not 'many'"),
        (["saddle", "--stepz", "3"], "there is no option --stepz; did you mean --steps?"),
        (["saddle", "--step=3"], "there is no option --step; did you mean --steps?"),
        (["evaluate", "x", "--mas", "2"], "there is no option --mas; did you mean --mass?"),
        (["watch", "x"], "Missing from mixedne watch: --out FILE.mp4"),
        (["saddle", "--qqq"], "there is no option --qqq\n"),
        (["saddle", "more"], "there is no place for the argument more"),
        (["saddle", "--learning-rate", "nan"], "learning_rate must be finite, not nan"),
        (["theorems", "--samples", "1"], "samples must be at least 2, not 1"),
        (["sadle"], "did you mean 'saddle'?"),
        (["export", "runs", "--out", "x.pt"], "the ONNX file must end in .onnx, not x.pt"),
        (["saddle", "--first-seed", "9223372036854775807"], "first_seed must be at most"),
    ],
)
def test_bad_input_gets_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("mixedne: ")
    assert message in said.err


def test_an_output_path_that_is_a_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "taken"
    file.write_text("mine")
    assert main(["saddle", "--out", str(file)]) == 2
    assert "exists and is not a folder" in capsys.readouterr().err
    assert file.read_text() == "mine"


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help_has_examples(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*command, "--help"])
    assert stop.value.code == 0
    said = capsys.readouterr()
    assert "Examples:\n  mixedne" in said.out
    assert said.err == ""


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 0
    words = capsys.readouterr().out
    for name in COMMANDS:
        assert f"\n  {name} " in words
        assert command_class(name).__doc__.splitlines()[0] in words


LIGHT = """
import contextlib, io, sys
from mixedne.cli.main import main
from mixedne.cli.parse import COMMANDS
heavy = lambda: {"jax", "jaxlib", "mujoco", "gymnasium", "optax"} & set(sys.modules)
said = io.StringIO()
main(["presets", "--json"])
assert not [name for name in sys.modules if name in ("mixedne.cli.study", "mixedne.cli.saddle")]
for words in ([], *([name] for name in COMMANDS)):
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(said):
        main([*words, "--help"])
    assert not heavy(), (words, heavy())
with contextlib.redirect_stdout(said):
    code = main(["report", "results", "--out", "page.html"])
assert not heavy(), heavy()
sys.exit(code)
"""


def test_help_presets_and_report_load_neither_jax_nor_a_simulator(tmp_path: Path) -> None:
    pretend_evaluated(tmp_path / "results", shifts(mass=(0.5, 1.0)))
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert (tmp_path / "page.html").is_file()


def test_a_table_that_is_too_wide_says_in_its_title_what_is_constant(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = ["task", "agent", "solver", "return"]
    rows = [["HalfCheetah-v5", "td3", "gad", "12.5"], ["HalfCheetah-v5", "td3", "eg", "1234.5"]]
    print_table("Results", columns, rows)
    assert capsys.readouterr().out.count("HalfCheetah-v5") == 2
    monkeypatch.setattr("mixedne.cli.console.PLAIN_WIDTH", 40)
    print_table("Results", columns, rows)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Results; task HalfCheetah-v5, agent td3"
    assert [line.split() for line in lines if "gad" in line] == [["gad", "12.5"]]
    print_table("Results", columns, rows[:1])  # of one row, everything is constant
    assert "12.5" in capsys.readouterr().out


def test_long_names_go_on_in_the_next_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut short, they could not be told apart."""
    monkeypatch.setattr("mixedne.cli.console.PLAIN_WIDTH", 40)
    names = [f"Hopper-v5-td3-mixedne-ld-delta0.1-seed{seed}" for seed in (1, 2)]
    print_table("Results", ["run", "return"], [[names[0], "12.5"], [names[1], "13.5"]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    together = "".join(line.split()[0] for line in lines if line.strip())
    assert all(name in together for name in names)


def test_version() -> None:
    assert mixedne("--version").stdout.startswith("mixedne 0.")


@pytest.mark.parametrize("arguments", [["presets", "--json"], ["presets", "--help"]])
def test_a_reader_that_has_gone_is_no_error_worth_a_word(arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)  # nobody will ever read, so the first write fails
    done = subprocess.run(
        [*COMMAND, *arguments], stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_theorems_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def few_claims(samples: int) -> list[theorems.Check]:
        assert samples == 1000
        return [*theorems.check_mixed_equilibria(OBJECTIVES["x2y2-xy"])]  # without sampling

    monkeypatch.setattr(theorems, "check_claims", few_claims)
    assert main(["theorems", "--samples", "1000", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)
    assert len(checks) == 3
    assert {"claim", "condition", "expected", "measured", "tolerance", "holds"} <= set(checks[0])
    assert main(["theorems", "--samples", "1000"]) == 0
    assert "FAILS, as the paper says it" in " ".join(capsys.readouterr().out.split())
