"""The command line in a process of its own."""

import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-m", "mixedne.cli.main"]


def mixedne(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )
