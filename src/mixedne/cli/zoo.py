"""``mixedne zoo``: list the trained policies included in the package."""

from dataclasses import dataclass

from mixedne.cli.console import print_json, print_table
from mixedne.zoo import PREFIX, zoo


@dataclass(frozen=True)
class Zoo:
    """List the included trained policies and their returns; use zoo:NAME as their path."""

    json: bool = False
    """Print one JSON document: a list of policies."""

    def run(self) -> None:
        """Print the policies."""
        policies = [{"policy": f"{PREFIX}{name}", **entry} for name, entry in zoo().items()]
        if self.json:
            print_json(policies)
            return
        returns = ("nominal_return", "mean_return", "worst_return")
        rows = [
            [
                policy["policy"],
                f"{policy['steps']:,}",
                f"{policy['lightest']:g} to {policy['heaviest']:g}",
                *(f"{policy[name]:.0f}" for name in returns),
            ]
            for policy in policies
        ]
        columns = ["policy", "steps", "masses", "nominal", "mean over masses", "worst mass"]
        print_table("Trained policies", columns, rows)
