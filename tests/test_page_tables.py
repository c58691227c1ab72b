"""The pages with results say what the published runs say."""

import runpy
from pathlib import Path

import pytest
from tables import block

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["quickstart", "recipe", "reproduction", "sets", "studies", "vpg"])
def test_the_tables_of_a_page_are_those_of_the_published_runs(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text()
    tables = runpy.run_path(str(ROOT / "benchmarks" / f"{name}.py"))["TABLES"]
    assert tables
    for table, make in tables.items():
        assert block(table, make()) in page, table
