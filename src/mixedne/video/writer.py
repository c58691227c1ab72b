"""Write pictures to a video file: draw text into each picture and encode it as H.264.

PyAV encodes inside this process: its wheels include FFmpeg, so that no program has to be found,
started or killed. Only encoded pictures, some kilobytes each, are kept in memory until the caption
is known: mp4 files store it before their pictures.
"""

import functools
import io
from collections.abc import Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont, ImageOps

from mixedne.video.captions import readable

Picture = NDArray[np.uint8]  # (height, width, 3), the top row first
QUALITY = {"crf": "25", "preset": "veryfast"}  # about 65 kB a second for HalfCheetah


class TextOverlay:
    """Lines of text at the top of a picture, on a dark strip."""

    def __init__(self, size: tuple[int, int], lines: int) -> None:
        """``size`` is the (width, height) of the pictures."""
        self._width = size[0]
        pixels = max(9, round(min(size[1], 0.75 * size[0]) / 28))
        self._pitch, self._margin = round(1.3 * pixels), round(0.5 * pixels)
        self.height = min(size[1], lines * self._pitch + 2 * self._margin)
        """Height of the strip."""
        font = files("matplotlib") / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
        self._font = ImageFont.truetype(str(font), pixels)
        self._fit = functools.lru_cache(maxsize=16)(self._shorten)

    def write(self, picture: Picture, lines: Sequence[str]) -> Picture:
        """The picture with the lines drawn into it."""
        darkened = np.array(picture)
        darkened[: self.height] //= 3  # a third of the picture's light
        image = Image.fromarray(darkened)
        draw = ImageDraw.Draw(image)
        for number, line in enumerate(lines):
            place = (self._margin, self._margin + number * self._pitch)
            draw.text(place, self._fit(line), (255, 255, 255), self._font)
        return np.asarray(image)

    def _shorten(self, line: str) -> str:
        """The line as readable text, with an ellipsis if it is too wide."""
        room = self._width - 2 * self._margin
        line = whole = readable(line)[: self._width]
        while line and self._font.getlength(line) > room:
            whole = whole[:-1]
            line = f"{whole}…" if whole else ""
        return line


def fitted(picture: Picture, size: tuple[int, int]) -> Picture:
    """The picture scaled to this (width, height), with black bars if its aspect ratio differs."""
    if picture.shape[1::-1] == size:
        return picture
    return np.asarray(ImageOps.pad(Image.fromarray(picture), size))


def to_png(picture: Picture) -> bytes:
    """A picture as PNG bytes."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG", compress_level=1)
    return file.getvalue()


def from_png(packed: bytes) -> Picture:
    """The picture from PNG bytes."""
    return np.asarray(Image.open(io.BytesIO(packed)))


class ImageFile:
    """A WebP or GIF file being written; it loops forever, and has no caption."""

    def __init__(self, path: Path, size: tuple[int, int], frames_per_second: int) -> None:
        """``size`` is (width, height)."""
        self._path, self._pictures = path, list[Image.Image]()
        self._frames_per_second = frames_per_second

    @property
    def frames(self) -> int:
        """Number of pictures so far."""
        return len(self._pictures)

    def add(self, picture: Picture) -> None:
        """Append a picture."""
        image = Image.fromarray(picture)
        if self._path.suffix == ".gif":
            image = image.quantize(128, Image.Quantize.FASTOCTREE)
        self._pictures.append(image.copy())

    def finish(self, title: str, comment: str) -> None:
        """Write the file."""
        first, *others = self._pictures
        unit = 10 if self._path.suffix == ".gif" else 1  # of what the file can say
        starts = [
            unit * round(1000 * number / self._frames_per_second / unit)
            for number in range(len(self._pictures))
        ]
        # The last picture is shown for a second before the loop restarts.
        milliseconds = [*(end - start for start, end in pairwise(starts)), 1000]
        first.save(
            self._path,
            save_all=True,
            append_images=others,
            duration=milliseconds if others else 1000,
            loop=0,
            quality=50,
        )

    def close(self) -> None:
        """Discard the pictures."""
        self._pictures.clear()


class VideoFile:
    """An mp4 file being written."""

    def __init__(self, path: Path, size: tuple[int, int], frames_per_second: int) -> None:
        """``size`` is (width, height), both even."""
        # With faststart the index comes first, so that browsers can play before the file is loaded.
        self._container = av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"})
        self._stream = self._container.add_stream("libx264", frames_per_second, options=QUALITY)
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = "yuv420p"  # what every browser plays
        self._packets: list[av.Packet] = []
        self.frames = 0

    def add(self, picture: Picture) -> None:
        """Append a picture."""
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
        self._packets += self._stream.encode(frame)
        self.frames += 1

    def finish(self, title: str, comment: str) -> None:
        """Write the file."""
        self._packets += self._stream.encode(None)
        self._container.metadata.update(title=title, comment=comment)
        for packet in self._packets:
            self._container.mux(packet)

    def close(self) -> None:
        """Close the file."""
        self._container.close()
