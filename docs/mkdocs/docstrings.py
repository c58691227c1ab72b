"""Docstrings as the code writes them, in Markdown for the site."""

import re
from typing import Any

import griffe

ROLE = re.compile(r":[a-z]+:`~?([^`]+)`")
ENTRY = re.compile(r"^``([^`]+)``\s{2,}", re.MULTILINE)
RULE = re.compile(r"^=+(\s+=+)*\n?", re.MULTILINE)


def to_markdown(text: str) -> str:
    """Roles as code, and columns of names and explanations as lists."""
    return ENTRY.sub(r"- `\1`: ", RULE.sub("", ROLE.sub(r"`\1`", text)))


class PlainDocstrings(griffe.Extension):
    """Rewrites every docstring that is read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)
