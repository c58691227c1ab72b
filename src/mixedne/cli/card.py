"""``mixedne card``: write a model card."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from mixedne.cli.console import notes_only, print_json
from mixedne.cli.streams import note


@dataclass(frozen=True, kw_only=True)
class Card:
    """Write a run's model card for the Hugging Face hub, with robustness results."""

    run_folder: Annotated[Path, Positional, arg(metavar="RUN")]
    """A run folder that has been evaluated."""
    out: Annotated[Path | None, arg(metavar="FILE.md")] = None
    """File to write the card to; README.md in the run folder by default. Figures go next to it."""
    at: Annotated[str, arg(metavar="best|last|STEP")] = "last"
    """Which policy of the run: the best, the last, or the one saved at a step."""
    overwrite: bool = False
    """Replace the card and its figures if they exist."""
    json: bool = False
    """Print one JSON document: the files written, and the mean return in the nominal world."""

    def run(self) -> None:
        """Write the card and print its path."""
        from mixedne.reports.card import card

        with notes_only():
            made = card(self.run_folder, self.out, at=self.at, overwrite=self.overwrite)
        if self.json:
            found = {"card": made.path, "figures": made.figures, "mean_return": made.mean_return}
            print_json(found)
            return
        note(f"{len(made.figures)} figures are beside the card")
        print(made.path)
