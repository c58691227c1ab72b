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


def test_a_cell_is_the_upper_bound_and_what_is_left() -> None:
    """The mean return under the strongest attacker, or of the control that was chosen over it."""
    seen = set()
    for task, method, found in attacks.found():
        folder = ROOT / "results" / "attacks" / f"{attacks.name_of(task, method)}-action"
        summary = json.loads((folder / "attack.json").read_text())
        assert found["action"] == summary
        returns, strongest = summary["returns"], summary["strongest"]
        none, least = returns["none"]["mean"], returns[strongest]["mean"]
        row = next(line for line in attacks.table().splitlines() if method in line and task in line)
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[2] == f"{none:.0f}"
        assert (
            cells[4].translate({ord("*"): "", ord("†"): ""}) == f"{least:.0f} ({least / none:.0%})"
        )
        assert ("†" in cells[4]) == (strongest != "attacker")
        seen.add(strongest)
    assert len(seen) > 1  # both kinds of cells were looked at
