"""Does training against one adversary help against another? The table of docs/games.md.

    python benchmarks/attacks.py --run FOLDER [--workers 2]   # trains and attacks; hours
    python benchmarks/attacks.py                              # writes the table into the page
    python benchmarks/attacks.py --check                      # exit code 1 if it has another

Attacked are, on two tasks, the runs with seed 0 of the reproduction (results/reproduction) and a
SAC that is trained first. The budget below was halved, for time, while the first attack was under
way and before any had ended. ``--run`` goes on where it was stopped, and copies each attack that is
done to results/attacks.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tables import Tables, arguments, markdown, number, write

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "results" / "reproduction" / "runs"
PUBLISHED = ROOT / "results" / "attacks"
PAGE = ROOT / "docs" / "games.md"

TASKS = ("HalfCheetah-v5", "Hopper-v5")
METHODS = {
    "MixedNE-LD, two players": {"solver": "mixedne-ld", "delta": 0.1},
    "GAD, two players": {"solver": "gad", "delta": 0.1},
    "MixedNE-LD, one player": {"solver": "mixedne-ld", "delta": 0.0},
    "SAC": None,
}
"""Of the reproduction: DDPG, 500 000 steps. SAC has TD3's networks, and as many steps."""

ATTACKS = ("action", "force", "observation")
"""Each with its default strength."""

BUDGET = ("--steps", "30000", "--seeds", "1", "--episodes", "50")
"""Of each attack: two attackers, one with each of the default learning rates."""

SAC = ("--agent", "sac", "--hidden", "64", "64", "--activation", "tanh", "--batch-size", "128")

KEPT = ("attack.json", "evaluation.parquet", "attacker.json", "attacker.safetensors")


def name_of(task: str, method: str) -> str:
    """The name of a policy's folder."""
    return f"{task.partition('-')[0]}-{method}".lower().replace(",", "").replace(" ", "-")


def policy_of(folder: Path, task: str, method: str) -> Path:
    """The run folder of a policy; SAC's is trained here, unless it has been."""
    wanted = METHODS[method]
    if wanted is None:
        run = folder / name_of(task, method)
        call("train", task, *SAC, "--steps", "500000", "--seed", "0", "--resume", "--out", run)
        keep(run, ("policy.json", "policy.safetensors", "config.json"))
        return run
    wanted = {"task": task, "seed": 0, **wanted}
    plan = json.loads((RUNS.parent / "studies" / "reproduce-ddpg.json").read_text())
    for run in plan["runs"]:
        if all(run["configuration"][key] == value for key, value in wanted.items()):
            return RUNS / str(run["run"])
    raise FileNotFoundError(f"no published run of {wanted}")


def call(*words: str | Path) -> None:
    """Run the program; only what it says of its progress is shown."""
    command = [sys.executable, "-m", "mixedne.cli.main", *map(str, words)]
    print("mixedne", *map(str, words), flush=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def keep(folder: Path, files: Sequence[str]) -> None:
    """Copy these files of a folder to the published ones."""
    out = PUBLISHED / folder.name
    out.mkdir(parents=True, exist_ok=True)
    for name in files:
        shutil.copyfile(folder / name, out / name)


def attack_all(folder: Path, task: str, method: str) -> None:
    """All attacks on one policy, each copied as soon as it is done."""
    policy = policy_of(folder, task, method)
    for on in ATTACKS:
        out = folder / f"{name_of(task, method)}-{on}"
        if not (out / "attack.json").is_file():
            again = ("--resume",) if out.exists() else ()
            call("attack", policy, "--on", on, *BUDGET, "--out", out, *again)
        keep(out, KEPT)


def found() -> Iterator[tuple[str, str, dict[str, dict[str, Any]]]]:
    """Of each policy that was attacked in every way: task, method and what was found."""
    for task in TASKS:
        for method in METHODS:
            files = {on: PUBLISHED / f"{name_of(task, method)}-{on}" / KEPT[0] for on in ATTACKS}
            if all(file.is_file() for file in files.values()):
                yield task, method, {on: json.loads(file.read_text()) for on, file in files.items()}


def table() -> str:
    """Mean returns without attack, at random and at most, and the share of the first."""
    rows = []
    for task, method, attacks in found():
        none = attacks[ATTACKS[0]]["returns"]["none"]["mean"]
        cells = []
        for on in ATTACKS:
            returns, strongest = attacks[on]["returns"], attacks[on]["strongest"]
            least = returns[strongest]["mean"]
            mark = "†" if strongest != "attacker" else "*" * bool(attacks[on]["still_improved"])
            cells.append(number(returns["random"]["mean"], none))
            cells.append(f"{number(least, none)}{mark} ({least / none:.0%})")
        rows.append([task, method, number(none, none), *cells])
    heads = [f"{on}{who}" for on in ATTACKS for who in (" at random", "")]
    return markdown(["task", "policy", "no attack", *heads], rows)


TABLES: Tables = {"attacks": table}


def main() -> int:
    """Run the attacks, or write their table."""
    parser = arguments(__doc__)
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="train and attack in FOLDER")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time")
    given = parser.parse_args()
    if given.run is None:
        return write(PAGE, TABLES, check=given.check)
    with ThreadPoolExecutor(given.workers) as pool:
        jobs = [pool.submit(attack_all, given.run, t, m) for t in TASKS for m in METHODS]
        for job in jobs:
            job.result()
    return 0


if __name__ == "__main__":
    sys.exit(main())
