"""The table of attacks in docs/games.md says what the published attacks say."""

import json
from pathlib import Path

import attacks
from tables import block, filled

ROOT = Path(__file__).parents[1]


def test_the_page_has_the_table_of_the_published_attacks() -> None:
    page = (ROOT / "docs" / "games.md").read_text()
    assert block("attacks", attacks.table()) in page
    assert filled(page, attacks.TABLES) == page


def test_a_cell_is_the_mean_return_and_what_is_left_of_it() -> None:
    task, method, found = next(attacks.found())
    folder = ROOT / "results" / "attacks" / f"{attacks.name_of(task, method)}-action"
    returns = json.loads((folder / "attack.json").read_text())["returns"]
    none, attacker = returns["none"]["mean"], returns["attacker"]["mean"]
    row = next(line for line in attacks.table().splitlines() if method in line and task in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[2] == f"{none:.0f}"
    assert cells[4].replace("*", "") == f"{attacker:.0f} ({attacker / none:.0%})"
    assert found["action"]["returns"] == returns
