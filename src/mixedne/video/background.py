"""A background with sky and floor, instead of black, for models that have neither.

Each pixel's ray is traced to a horizontal plane: where it hits, there is a chequered floor that
fades into the distance; elsewhere there is a sky that is lighter at the horizon.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ZENITH, HORIZON = np.array([70, 95, 130]), np.array([180, 195, 210])
TILES = np.array([[96, 108, 116], [122, 134, 142]])
"""The floor's two colours."""


def background(camera: Any, size: tuple[int, int], floor: float | None) -> NDArray[np.uint8]:
    """The background picture, top row first.

    ``camera`` is one of an ``MjvScene``, ``size`` is (width, height), and ``floor`` is the height
    of the floor, or None to draw none.
    """
    width, height = size
    forward, up = np.array(camera.forward), np.array(camera.up)
    bottom, top = camera.frustum_bottom, camera.frustum_top
    half = (top - bottom) * width / height / 2
    y = np.linspace(top, bottom, height)[:, None, None]
    x = np.linspace(-half, half, width)[None, :, None]
    rays = camera.frustum_near * forward + y * up + x * np.cross(forward, up)
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    climb = np.clip(rays[..., 2:], 0, 1)
    picture = HORIZON + (ZENITH - HORIZON) * climb**0.5
    if floor is not None:
        drop = floor - camera.pos[2]
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = drop / rays[..., 2:]
        met = np.isfinite(distance) & (distance > 0) & (distance < 1e3)
        place = np.array(camera.pos)[:2] + np.where(met, distance, 0) * rays[..., :2]
        tiles = TILES[np.floor(2 * place).sum(axis=-1).astype(int) % 2]
        fading = np.exp(-np.where(met, distance, 0) / (8 * abs(drop) + 1))
        picture = np.where(met, HORIZON + (tiles - HORIZON) * fading, picture)
    return picture.round().astype(np.uint8)
