"""Tables of numbers in pages: each is made by a script, the text around it is written by hand.

A table stands in its page between ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

Tables = Mapping[str, Callable[[], str]]


def number(value: float, size: float) -> str:
    """As many digits as a return of this size deserves."""
    return f"{value:z.0f}" if abs(size) >= 100 else f"{value:z.1f}"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def block(name: str, table: str) -> str:
    """A table as it stands in its page."""
    return f"<!-- table: {name} -->\n\n{table}\n\n<!-- end -->"


def filled(page: str, tables: Tables) -> str:
    """The page with every table of these names made anew."""
    for name, table in tables.items():
        found = re.search(rf"<!-- table: {name} -->.*?<!-- end -->", page, flags=re.DOTALL)
        if found is None:
            raise ValueError(f"the page has no place for the table {name}")
        page = page[: found.start()] + block(name, table()) + page[found.end() :]
    return page


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The arguments of a script that writes tables."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    return parser


def write(path: Path, tables: Tables, *, check: bool) -> int:
    """Write the tables into the page, or only say whether it has them; the exit code."""
    before = path.read_text()
    after = filled(before, tables)
    if check:
        print("the page is up to date" if before == after else "the page has other tables")
        return int(before != after)
    path.write_text(after)
    return 0
