"""``mixedne export``: write a policy for use in other programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from mixedne.cli.console import notes_only, print_json
from mixedne.cli.streams import note


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write a run's policy as an ONNX file, for use in other programs."""

    policy: Annotated[Path, Positional, arg(metavar="RUN")]
    """A run folder, or a policy file written by mixedne."""
    out: Annotated[Path, arg(metavar="FILE.onnx")]
    """File to write."""
    format: Literal["onnx"] = "onnx"
    """Format of the file."""
    overwrite: bool = False
    """Replace the output file if it exists."""
    json: bool = False
    """Print one JSON document: the file, and how much its actions differ from the policy's."""

    def run(self) -> None:
        """Write the file, compare its actions with the policy's and print the difference."""
        from mixedne.exports import OBSERVATIONS, TOLERANCE, export

        with notes_only():
            made = export(self.policy, self.out, format=self.format, overwrite=self.overwrite)
        if self.json:
            print_json(
                {
                    "file": str(made.path),
                    "format": self.format,
                    "task": made.task,
                    "observations": OBSERVATIONS,
                    "largest_difference": made.largest_difference,
                    "tolerance": TOLERANCE,
                    "policy_sha256": made.policy_sha256,
                }
            )
            return
        print(
            f"largest difference from the policy on {OBSERVATIONS} observations: "
            f"{made.largest_difference:.1e} of the action's range (allowed: {TOLERANCE:g})"
        )
        note(f"The ONNX file is {made.path}")
