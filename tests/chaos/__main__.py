"""``python -m chaos``: make faults on purpose, and print what became of them."""

import argparse
import os
import sys
import tempfile
from pathlib import Path


def main() -> int:
    """Run the families asked for; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of all that is random")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the attempts")
    parser.add_argument("--only", nargs="+", metavar="FAMILY", help="these families alone")
    parser.add_argument("--number", type=int, help="this attempt alone")
    parser.add_argument("--out", type=Path, metavar="TABLE.md", help="also write the table here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as name:
        # Programs that XLA has compiled, for all processes. Set before JAX is imported.
        os.environ |= {
            "JAX_COMPILATION_CACHE_DIR": str(Path(name) / "cache"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        from chaos.families import FAMILIES
        from chaos.suite import as_table, run_family

        unknown = {*(options.only or ())} - {*FAMILIES}
        if unknown:
            parser.error(f"no family {', '.join(unknown)}: there are {', '.join(FAMILIES)}")
        results = []
        for family in options.only or FAMILIES:
            kind = FAMILIES[family]
            count = max(1, round(kind.attempts * options.scale))
            numbers = range(count) if options.number is None else [options.number]
            results.append(run_family(kind, options.seed, numbers, Path(name) / family))
            for failure in results[-1].failures:
                print(f"failed: {failure}\n", flush=True)
            print(as_table(results[-1:]), flush=True)
    table = as_table(results)
    print(table)
    if options.out is not None:
        options.out.write_text(table)
    return int(any(result.failures for result in results))


if __name__ == "__main__":
    sys.exit(main())
