"""What travels in the page: packed tables, safe JSON, the case study thinned, the parts shipped."""

import base64
import hashlib
import json
import re
import zlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from mixedne.reports import page
from mixedne.reports.style import CASE_STUDY, PLOTLY_MARKERS, SOLVERS
from mixedne.reports.tables import Report
from mixedne.shifts import PARAMETERS
from mixedne.tasks.toy import NOMINAL_RHO
from probes.report import sample_report

PARTS = Path(str(files("mixedne.reports.page"))) / "parts"


def unpacked(text: str) -> dict[str, Any]:
    return json.loads(zlib.decompress(base64.b64decode(text)))


def test_null_invalid_and_infinite_are_told_apart() -> None:
    numbers = [None, float("nan"), float("inf"), float("-inf"), 0.1 + 0.2, 1234567.8, 1e-9]
    packed = unpacked(page.pack(pl.DataFrame({"number": numbers})))
    expected = [None, "NaN", "Infinity", "-Infinity", 0.3, 1234568.0, 1e-9]
    assert packed == {"rows": 7, "columns": {"number": expected}}


def test_words_stand_once_and_counts_keep_every_digit() -> None:
    table = pl.DataFrame({"word": ["b", None, "a", "b"], "step": [123456789, 1, 2, 3]})
    packed = unpacked(page.pack(table))["columns"]
    assert packed == {
        "word": {"words": ["b", "a"], "codes": [0, -1, 1, 0]},
        "step": [123456789, 1, 2, 3],
    }


@pytest.mark.parametrize("text", ["</script>", "<!--", "&lt;", "\u2028\u2029", '"\\'])
def test_json_in_the_page_cannot_end_its_element(text: str) -> None:
    inline = page.inline_json({text: [text]})
    assert not set(inline) & set("<>&\u2028\u2029")
    assert json.loads(inline) == {text: [text]}


def test_placeholders_in_data_stay_words() -> None:
    text = page.render(Report(title="@@SCRIPT@@"))
    assert "<title>@@SCRIPT@@</title>" in text


def test_looks_are_those_of_the_figures_and_all_different() -> None:
    looks = page.styles()
    by_solver = {look["solver"]: look for look in looks["solvers"]}
    assert by_solver[None]["label"] == "SAC"
    for solver in ("mixedne-ld", "gad", "extra-adam"):
        assert by_solver[solver]["color"] == SOLVERS[solver].color
        assert by_solver[solver]["symbol"] == PLOTLY_MARKERS[SOLVERS[solver].marker]
    whole = [
        (look["color"], look["dash"], look["symbol"])
        for look in (*looks["solvers"], *looks["further"])
    ]
    assert len(set(whole)) == len(whole)


def test_policies_are_trained_where_the_page_says() -> None:
    assert PARAMETERS["rho"].nominal == NOMINAL_RHO


def test_a_long_case_study_stays_small() -> None:
    generator = np.random.default_rng(0)
    rows = [
        {
            "objective": objective, "start": start, "start_theta": 0.5, "start_omega": 0.5,
            "solver": solver, "inner": inner, "steps": 3000, "seed": seed,
            "theta": generator.normal(size=3001).tolist(),
            "omega": generator.normal(size=3001).tolist(),
        }
        for objective in ("x2y2-xy", "xy-x2y2", "x2y2")
        for start in ("far", "near")
        for solver, inner in CASE_STUDY
        for seed in range(3)
    ]  # fmt: skip
    tables = page.thinned(pl.DataFrame(rows))
    assert sum(len(page.pack(table)) for table in tables.values()) < 300_000
    assert tables["paths"]["step"].max() == tables["values"]["step"].max() == 3000


def test_the_drawing_library_is_the_one_that_the_readme_names() -> None:
    content = (PARTS / "plotly" / "plotly-cartesian.min.js").read_bytes()
    readme = (PARTS / "plotly" / "README.md").read_text()
    assert hashlib.sha256(content).hexdigest() in readme
    version = re.search(rb"plotly.js \(cartesian - minified\) v([0-9.]+)", content)
    assert version is not None
    assert f"| {version[1].decode()} |" in readme
    assert "MIT" in (PARTS / "plotly" / "LICENSE").read_text()


def test_every_script_is_in_the_page_and_starts_strict() -> None:
    assert sorted(page.SCRIPTS) == sorted(path.name for path in PARTS.glob("*.js"))
    text = page.render(sample_report())
    assert '(() => {\n"use strict";\n' in text
    assert "innerHTML" not in "".join((PARTS / name).read_text() for name in page.SCRIPTS)
    assert "unsafe-eval" not in text
    assert "script-src 'sha256-" in text
