"""Whether pictures can be made here, and what is in a video."""

import functools
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from mixedne import InvalidInputError
from mixedne.tasks import resolve_task
from mixedne.video.renderer import Renderer


@functools.cache
def lack_of_gl() -> str:
    """Why nothing can be drawn on this machine; empty if it can."""
    try:
        Renderer(resolve_task("InvertedPendulum"), (64, 64)).close()
    except InvalidInputError as error:
        return str(error)
    return ""


def skip_without_gl() -> None:
    if lack_of_gl():
        pytest.skip(lack_of_gl())


class Decoded(NamedTuple):
    """What a player sees of a video."""

    pictures: NDArray[np.int16]
    """(frames, height, width, 3)."""
    rate: Fraction | None
    codec: str
    pixels: str | None


def decode(path: Path) -> Decoded:
    with av.open(str(path), format="mp4") as video:
        (stream,) = video.streams.video
        pictures = [frame.to_ndarray(format="rgb24") for frame in video.decode(stream)]
        context = stream.codec_context
        return Decoded(
            np.stack(pictures).astype(np.int16), stream.average_rate, context.name, context.pix_fmt
        )
