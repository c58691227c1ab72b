"""Speed of training against other libraries, in turn on one core.

    make peers
    python benchmarks/training.py [--rounds 5] [--only end-to-end|games|inner|vpg] [--core 0]

``end-to-end``  steps of HalfCheetah-v5 a second, with one update a step: ours against TD3 of SBX
                and of Stable-Baselines3.
``games``       the same of ours in RARL, whose adversary pushes the torso, against NR-MDP.
``inner``       one inner update of two-player DDPG with MixedNE-LD: ours against eager PyTorch.
``vpg``         one outer step of two-player VPG with MixedNE-LD: ours, per seed, against eager
                PyTorch with one seed.

Every run is a process of its own, ours with this Python and the peers with that of
``.venv-peers``. In each round all programs run once, one after the other, and the ratios are
taken within the round. Prints a Markdown table of medians (ranges).
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PEER_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
DISTURBED = 0.9

Report = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One program and its options."""

    name: str
    script: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Several of ours, each against each of its peers."""

    measure: str
    """The field of the JSON reports."""
    unit: str
    faster_is_more: bool
    pairs: tuple[tuple[Case, tuple[Case, ...]], ...]


def our_training(agent: str, solver: str, delta: float | None) -> Case:
    """Our training from end to end; without δ, in RARL."""
    game = ("--formulation", "rarl") if delta is None else ("--delta", str(delta))
    players = "one player" if delta == 0 else f"two players, δ = {delta}"
    players = "RARL" if delta is None else players
    options = ("--agent", agent, "--solver", solver, *game)
    return Case(f"{agent.upper()}, {solver}, {players}", "own/train_speed.py", options)


SBX = Case("SBX TD3", "peers/td3.py", ("--library", "sbx"))
SB3 = Case("SB3 TD3", "peers/td3.py", ("--library", "sb3"))
QUIET = ("--no-noise",)

COMPARISONS = {
    "end-to-end": Comparison(
        "steps_per_second",
        "steps/s",
        faster_is_more=True,
        pairs=(
            (our_training("td3", "gad", 0.0), (SBX, SB3)),
            (our_training("td3", "mixedne-ld", 0.1), (SBX, SB3)),
            (our_training("ddpg", "gad", 0.0), (SBX, SB3)),
            (our_training("ddpg", "mixedne-ld", 0.1), (SBX, SB3)),
        ),
    ),
    "games": Comparison(
        "steps_per_second",
        "steps/s",
        faster_is_more=True,
        pairs=(
            (our_training("td3", "mixedne-ld", None), (our_training("td3", "mixedne-ld", 0.1),)),
        ),
    ),
    "inner": Comparison(
        "milliseconds_per_update",
        "ms",
        faster_is_more=False,
        pairs=(
            (
                Case("inner update", "own/inner_update.py"),
                (Case("eager PyTorch", "peers/torch_inner_update.py"),),
            ),
            (
                Case("inner update, no noise", "own/inner_update.py", QUIET),
                (Case("eager PyTorch, no noise", "peers/torch_inner_update.py", QUIET),),
            ),
        ),
    ),
    "vpg": Comparison(
        "milliseconds_per_step",
        "ms per seed",
        faster_is_more=False,
        pairs=tuple(
            (
                Case(f"VPG, {seeds} at once", "own/vpg.py", ("--seeds", str(seeds))),
                (Case("eager PyTorch, one seed", "peers/torch_vpg.py", ("--steps", "20")),),
            )
            for seeds in (5, 8, 1)
        ),
    ),
}


def run(case: Case, size: tuple[str, ...]) -> Report:
    """The JSON report of a process, which stands on its last line."""
    python = Path(sys.executable) if case.script.startswith("own/") else PEER_PYTHON
    if not python.exists():
        raise SystemExit("the peers are not installed: run `make peers` first")
    command = [str(python), str(ROOT / "benchmarks" / case.script), *case.options, *size]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    report: Report = json.loads(done.stdout.splitlines()[-1])
    share = report.get("share_of_core", 1.0)
    if share < DISTURBED:
        print(f"{case.name}: had only {share:.0%} of its core", file=sys.stderr)
    return report


def play(comparison: Comparison, rounds: int, size: tuple[str, ...]) -> dict[Case, list[Report]]:
    """The reports of every program, one for each round."""
    reports: dict[Case, list[Report]] = {}
    for ours, peers in comparison.pairs:
        reports |= {case: [] for case in (ours, *peers)}
    for number in range(rounds):
        for case in reports:
            report = run(case, size)
            reports[case].append(report)
            speed = f"{report[comparison.measure]} {comparison.unit}"
            print(f"round {number + 1}: {case.name}: {speed}", file=sys.stderr, flush=True)
    return reports


def spread(values: list[float], form: str) -> str:
    """Median (range)."""
    low, middle, high = (format(x, form) for x in (min(values), median(values), max(values)))
    return f"{middle} ({low} to {high})"


def table(comparison: Comparison, reports: dict[Case, list[Report]]) -> str:
    """A row for each pair of one of ours and a peer; a ratio above 1 says that ours is faster."""
    unit, form = comparison.unit, ".0f" if comparison.faster_is_more else ".2f"
    lines = [
        f"| mixedne | {unit} | peer | {unit} | times as fast |",
        "| --- | --- | --- | --- | --- |",
    ]
    speeds = {
        case: [float(report[comparison.measure]) for report in each]
        for case, each in reports.items()
    }
    for ours, peers in comparison.pairs:
        for peer in peers:
            mine, theirs = speeds[ours], speeds[peer]
            more, less = (mine, theirs) if comparison.faster_is_more else (theirs, mine)
            ratios = [a / b for a, b in zip(more, less, strict=True)]
            cells = [ours.name, spread(mine, form), peer.name, spread(theirs, form)]
            lines.append(f"| {' | '.join([*cells, spread(ratios, '.2f')])} |")
    rounds, versions = 0, dict[str, str]()
    for each in reports.values():
        rounds = len(each)
        versions.update(each[0].get("versions", {}))
    named = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
    return "\n".join([*lines, "", f"Medians (ranges) of {rounds} rounds; {named}."])


def main() -> None:
    """Run what was asked for and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=list(COMPARISONS))
    parser.add_argument("--steps", type=int, default=5000, help="timed steps, end to end")
    parser.add_argument("--updates", type=int, default=3000, help="timed inner updates")
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    sizes = {
        "end-to-end": ("--steps", str(arguments.steps)),
        "games": ("--steps", str(arguments.steps)),
        "inner": ("--updates", str(arguments.updates)),
        "vpg": (),
    }
    core = ("--core", str(arguments.core))
    for name, comparison in COMPARISONS.items():
        if arguments.only in (None, name):
            reports = play(comparison, arguments.rounds, (*sizes[name], *core))
            print(f"\n### {name}\n\n{table(comparison, reports)}", flush=True)


if __name__ == "__main__":
    main()
