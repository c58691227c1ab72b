"""The installed package works: `make dist` runs this in a fresh environment, far from the checkout.

Only the standard library and the package are there. Every file that ships beside the code is used.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

import mixedne
from mixedne.reports.inputs.published import published
from mixedne.studies.spec import find_study, named_studies

COMMAND = Path(sys.prefix) / "bin" / "mixedne"
TASK = "InvertedPendulum-v5"


def run(*arguments: str) -> str:
    """What a command prints."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"mixedne {' '.join(arguments)} failed: {done.stderr}")
    return done.stdout


def check(claim: str, holds: bool) -> None:
    """Say what holds; stop at what does not."""
    if not holds:
        sys.exit(f"not so: {claim}")
    print(f"ok: {claim}", flush=True)


def main() -> None:
    """Data first, then the way from training to a report."""
    home = Path(mixedne.__file__)
    check("the package is the installed one", home.is_relative_to(sys.prefix))
    check("its types are declared", (resources.files("mixedne") / "py.typed").is_file())
    check("its version is known", run("--version").split() == ["mixedne", mixedne.__version__])
    check("help is there", all("Examples:" in run(x, "--help") for x in ("train", "evaluate")))
    check("the paper's tables are there", len(json.loads(run("presets", "--json"))) > 10)
    check("studies are there", "paper-ddpg" in named_studies())
    check("they can be read", all(find_study(name).runs for name in named_studies()))
    check("published curves are there", published(["Hopper-v5", "HalfCheetah-v5"]).height > 0)

    run("train", TASK, "--steps", "300", "--update-after", "100", "--out", "run")
    check("a run has a policy", Path("run/policy.safetensors").is_file())
    rows = json.loads(run("evaluate", "run", "--mass", "0.5,2", "--episodes", "2", "--json"))
    check("it is evaluated", [row["mass"] for row in rows] == [0.5, 2.0])
    run("report", "run", "--out", "report.html")
    page = Path("report.html").read_text("utf-8")
    check("a report brings its own Plotly", "plotly" in page.lower() and len(page) > 400_000)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        main()
