"""The layout of a video's pictures: a row for each policy, a column for each world."""

from dataclasses import dataclass
from typing import Self

from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import whole_number
from mixedne.video.writer import Picture

MAX_TILES = 36
"""Maximum number of pictures in one video."""

IN_A_ROW = 4
"""Maximum number of pictures per row if there is only one policy or only one world."""

LARGEST = 4096
"""Maximum width and height of a video, in pixels."""


@dataclass(frozen=True)
class Layout:
    """The positions of a video's pictures."""

    tile: tuple[int, int]
    """Width and height of each picture."""
    columns: int
    rows: int

    @classmethod
    def of(cls, policies: int, worlds: int, size: tuple[int, int] | None) -> Self:
        """The layout for these numbers of policies and worlds; ``size`` is that of each picture."""
        count = policies * worlds
        if count > MAX_TILES:
            raise InvalidInputError(
                f"a film shows at most {MAX_TILES} episodes, not those of {policies} policies in "
                f"{worlds} worlds"
            )
        columns = worlds if policies > 1 and worlds > 1 else min(count, IN_A_ROW)
        tile = ((640, 480) if count == 1 else (320, 240)) if size is None else _check_size(size)
        made = cls(tile, columns, -(-count // columns))
        if max(made.size) > LARGEST:
            raise InvalidInputError(
                f"a film must be at most {LARGEST} pixels wide and high, not "
                f"{made.size[0]}x{made.size[1]}: choose a smaller size"
            )
        return made

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the whole video."""
        return self.columns * self.tile[0], self.rows * self.tile[1]

    def put(self, whole: Picture, place: int, picture: Picture) -> None:
        """Copy a picture to its position."""
        (width, height), (row, column) = self.tile, divmod(place, self.columns)
        whole[row * height : (row + 1) * height, column * width : (column + 1) * width] = picture


def _check_size(size: tuple[int, int]) -> tuple[int, int]:
    try:
        width, height = (whole_number("size", pixels) for pixels in size)
    except (TypeError, ValueError):
        raise InvalidInputError(f"size must be a width and a height, not {size!r}") from None
    if min(width, height) < 64 or max(width, height) > LARGEST:
        raise InvalidInputError(f"size must be from 64 to {LARGEST} each, not {width}x{height}")
    if width % 2 or height % 2:
        raise InvalidInputError(f"size must be even numbers, not {width}x{height}")
    return width, height
