"""Metadata of a video: a small JSON document in the comment of its mp4 file.

Reading it needs neither a simulator nor JAX, so that a report can caption videos. The file is not
trusted: only known fields of known types are kept, and they are shown as plain text.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mixedne.shifts import shift_axes

FORMAT_VERSION = 1
MAX_TEXT = 500  # longer texts in a file are cut

FIELDS: dict[str, type] = {
    **dict.fromkeys(("task", "run", "shift"), str),
    **dict.fromkeys(("mass", "friction", "noise"), float),
    "shifts": dict,
    "acting": str,
    **dict.fromkeys(("episode", "episode_seed"), int),
    **{"return": float, "length": int, "terminated": bool, "diverged": bool},
    **dict.fromkeys(("frames", "frames_per_second"), int),
}
"""Fields of a caption, besides its format_version: ``shift`` in words, ``shifts`` as numbers by
axis. Each may be null, e.g. a return that is not finite, or a field that older files lack."""


def caption_text(caption: Mapping[str, Any]) -> str:
    """The caption as it is stored in the file."""
    said = {name: _checked(kind, caption.get(name)) for name, kind in FIELDS.items()}
    return json.dumps({"format_version": FORMAT_VERSION, **said}, ensure_ascii=False)


def read_caption(path: str | Path) -> dict[str, Any] | None:
    """The caption of a video made by ``mixedne watch``; None for any other file."""
    import av

    try:
        # Only as mp4: other formats may refer to further files and addresses.
        with av.open(str(path), format="mp4") as video:
            said = json.loads(video.metadata.get("comment", ""))
    except (OSError, ValueError, RecursionError, av.FFmpegError):
        return None
    if not isinstance(said, dict) or said.get("format_version") != FORMAT_VERSION:
        return None
    caption = {name: _checked(kind, said.get(name)) for name, kind in FIELDS.items()}
    if None in (caption["task"], caption["run"], caption["shift"]):
        return None
    return {"format_version": FORMAT_VERSION, **caption}


def _checked(kind: type, value: Any) -> Any:
    """The value if it has the right type, otherwise None."""
    if kind is float and type(value) in (int, float) and abs(value) <= sys.float_info.max:
        return float(value)
    if kind is str and isinstance(value, str):
        return readable(value)[:MAX_TEXT]
    if kind is dict and isinstance(value, dict):
        numbers = {str(axis): _checked(float, value[str(axis)]) for axis in shift_axes(value)}
        return {name[:MAX_TEXT]: number for name, number in numbers.items() if number is not None}
    return value if kind in (int, bool) and type(value) is kind else None


def readable(text: str) -> str:
    """Text without line breaks and control characters."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
