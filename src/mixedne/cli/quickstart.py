"""``mixedne quickstart``: the main job in a few minutes."""

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from mixedne.cli.saddle import Saddle


@dataclass(frozen=True)
class Quickstart:
    """The case study, whole: three games, two starts, 100 seeds, figures and a table."""

    about: ClassVar[str] = """\
Examples:
  mixedne quickstart
  mixedne quickstart --out results"""

    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Where to write; by default a new folder named quickstart, quickstart-2, …"""

    overwrite: bool = False
    """Replace the folder if an earlier quickstart made it."""

    def run(self) -> None:
        """Run the case study with both kinds of inner chains from both starts."""
        out = self.out or next(
            path
            for path in (Path(f"quickstart{f'-{n}' if n > 1 else ''}") for n in count(1))
            if not path.exists()
        )
        Saddle(start="both", inner="both", out=out, overwrite=self.overwrite).run()
