"""``mixedne theorems``: what Section 4 of the paper claims, checked by computation."""

from dataclasses import asdict, dataclass
from typing import ClassVar

from mixedne.cli.console import print_json, print_table
from mixedne.errors import check_number


@dataclass(frozen=True)
class Theorems:
    """Check what the paper's Section 4 claims, by integration, expansion and sampling."""

    about: ClassVar[str] = """\
Examples:
  mixedne theorems
  mixedne theorems --samples 100000 --json"""

    samples: int = 1_000_000
    """Samples of each Monte-Carlo estimate."""
    json: bool = False
    """Print one JSON document: a list with one object per check."""

    def run(self) -> None:
        """Run every check and print it."""
        check_number("samples", self.samples, at_least=2)
        from mixedne.saddle.theorems import check_claims

        checks = check_claims(self.samples)
        if self.json:
            print_json([{**asdict(check), "holds": check.holds} for check in checks])
            return
        rows = [
            [
                check.claim,
                check.objective,
                check.condition,
                check.quantity,
                f"{check.expected:.4g}",
                f"{check.measured:.4g} ± {check.tolerance:.1g}",
                ("holds" if check.holds else "FAILS")
                + (", as the paper says it" if check.paper else ""),
            ]
            for check in checks
        ]
        columns = ["claim", "objective", "condition", "quantity", "claimed", "measured", "verdict"]
        print_table("Section 4, claim by claim", columns, rows)
