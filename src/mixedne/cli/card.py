"""``mixedne card``: a model card."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from mixedne.cli.console import noted_warnings, print_json
from mixedne.cli.streams import note


@dataclass(frozen=True, kw_only=True)
class Card:
    """Write a run's model card, with its robustness, for the Hugging Face hub."""

    run_folder: Annotated[Path, Positional, arg(metavar="RUN")]
    """A run folder that was evaluated."""
    out: Annotated[Path | None, arg(metavar="FILE.md")] = None
    """The card; README.md in the run folder by default. Its figures come beside it."""
    at: Annotated[str, arg(metavar="best|last|STEP")] = "last"
    """Which policy of the run."""
    overwrite: bool = False
    """Replace the card and its figures if they exist."""
    json: bool = False
    """Print one JSON document: the files written, and the mean return in the nominal world."""

    def run(self) -> None:
        """Write, and say where it is."""
        from mixedne.reports.card import card

        with noted_warnings():
            made = card(self.run_folder, self.out, at=self.at, overwrite=self.overwrite)
        if self.json:
            found = {"card": made.path, "figures": made.figures, "mean_return": made.mean_return}
            print_json(found)
            return
        note(f"{len(made.figures)} figures are beside the card")
        print(made.path)
