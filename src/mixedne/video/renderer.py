"""Off-screen rendering of a MuJoCo world: neither a window nor a display is needed.

MuJoCo renders with OpenGL and reads the backend from MUJOCO_GL when it is imported, which is too
early for a program that renders only on request. So the context is created here: EGL on Linux,
which renders on a GPU or in software, and MuJoCo's own choice elsewhere. If the user has set
MUJOCO_GL, it is used. Nothing happens before the first renderer is created.
"""

import contextlib
import copy
import ctypes
import importlib
import os
import platform
import warnings
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_choice, first_line
from mixedne.tasks.registry import no_mujoco_warnings, nominal_model
from mixedne.tasks.task import Task
from mixedne.video.background import background
from mixedne.video.writer import Picture

FOLLOWING = "track"  # the camera that moves with the robot, in Gymnasium's models

_BACKENDS = {"egl": "libEGL.so.1", "osmesa": "libOSMesa.so.8", "glfw": None}
# By MUJOCO_GL, in the order of preference, with the library that each needs.

VIEWS = {
    "InvertedPendulum": ((0.0, 0.0, 0.25), 2.4, -10.0),
    "InvertedDoublePendulum": ((0.0, 0.0, 0.5), 3.6, -10.0),
    "Reacher": ((0.0, 0.05, 0.0), 0.9, -90.0),
}
"""Camera of tasks that have none in their model and stay in one place: the point it looks at, its
distance, and its elevation in degrees."""


class Renderer:
    """Renders one world of a MuJoCo task; must be closed by the thread that created it."""

    def __init__(self, task: Task, size: tuple[int, int], camera: str | None = None) -> None:
        """``size`` is (width, height); ``camera`` is the name of one of the model's cameras.

        All worlds are drawn with the nominal model. Shifts are not visible in it anyway, and if
        only masses are shifted, MuJoCo's centre of mass, which cameras follow, would be wrong.
        """
        self._model = copy.copy(nominal_model(task)[0])
        _prepare(self._model, size)
        self._data = mujoco.MjData(self._model)
        self._surroundings = _Surroundings(self._model)
        self._camera = _find_camera(self._model, task, camera)
        self._options = mujoco.MjvOption()
        self._rectangle = mujoco.MjrRect(0, 0, *size)
        self._pixels = np.empty((size[1], size[0], 3), np.uint8)
        self._closing = contextlib.ExitStack()
        with _gl_errors():
            gl = _context_class()(*size)
            self._closing.callback(gl.free)
            gl.make_current()
            self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100)
            self._closing.callback(self._context.free)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._scene = mujoco.MjvScene(self._model, maxgeom=10_000)
        self._size, self._depth = size, None
        self._behind: tuple[Any, Picture] | None = None  # from where it is seen, and the picture
        if not (self._model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX).any():
            self._depth = np.empty((size[1], size[0]), np.float32)

    def draw(self, qpos: NDArray[np.float64]) -> Picture:
        """A picture of the world with the robot in this position; valid until the next call."""
        self._data.qpos[:] = qpos
        with no_mujoco_warnings:
            mujoco.mj_forward(self._model, self._data)
        self._surroundings.follow(self._data)
        world, everything = (self._model, self._data), mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(*world, self._options, None, self._camera, everything, self._scene)
        mujoco.mjr_render(self._rectangle, self._scene, self._context)
        mujoco.mjr_readPixels(self._pixels, self._depth, self._rectangle, self._context)
        picture = self._pixels[::-1]  # OpenGL's first row is the lowest
        if self._depth is not None:
            is_empty = self._depth[::-1] == 1
            picture[is_empty] = self._background()[is_empty]
        return picture

    def _background(self) -> Picture:
        """The sky, and a floor if the model has no plane."""
        has_plane = (self._model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE).any()
        floor = self._model.stat.center[2] - 0.3 * self._model.stat.extent
        camera = self._scene.camera[0]
        seen = (*camera.pos, *camera.forward, *camera.up)
        if self._behind is None or self._behind[0] != seen:
            self._behind = seen, background(camera, self._size, None if has_plane else floor)
        return self._behind[1]

    def close(self) -> None:
        """Release OpenGL."""
        self._closing.close()


def _prepare(model: mujoco.MjModel, size: tuple[int, int]) -> None:
    """Adjust a copy of a model for rendering, without any change to the physics."""
    model.vis.global_.offwidth, model.vis.global_.offheight = size
    model.vis.quality.shadowsize = 1024  # MuJoCo's 4096 look the same and take twice the time
    model.vis.map.shadowclip = 2.0 / model.stat.extent  # further off are some that nothing casts
    if model.nlight == 0:
        model.vis.headlight.ambient[:] = 0.3
        model.vis.headlight.diffuse[:] = 0.5


class _Surroundings:
    """Level planes and distant lights, moved along with the robot.

    In the physics, planes are infinite; when drawn, they end, and robots run beyond the end, and
    out of the light that casts their shadow. Moving a plane by whole tiles of its texture is
    not visible.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        is_plane = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
        is_level = (model.geom_quat == (1, 0, 0, 0)).all(axis=1) & (model.geom_bodyid == 0)
        self._planes = np.flatnonzero(is_plane & is_level & (model.geom_matid >= 0))
        materials = model.geom_matid[self._planes]
        lengths = 2 * model.geom_size[self._planes, :2]
        lengths[model.mat_texuniform[materials]] = 1.0  # tiles are counted per unit of length
        self._tiles = lengths / model.mat_texrepeat[materials]
        is_distant = model.light_type == mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
        self._lights = np.flatnonzero(is_distant & (model.light_bodyid == 0))

    def follow(self, data: mujoco.MjData) -> None:
        """Move them to the model's centre of mass."""
        centre, tiles = data.subtree_com[0, :2], self._tiles
        places = data.geom_xpos[self._planes, :2]
        whole = np.round((centre - places) / np.where(tiles > 0, tiles, np.inf))
        data.geom_xpos[self._planes, :2] = places + whole * tiles
        data.light_xpos[self._lights, :2] = centre


def _find_camera(model: mujoco.MjModel, task: Task, name: str | None) -> mujoco.MjvCamera:
    """The camera of that name; by default one that follows the robot or suits the task."""
    kind = mujoco.mjtObj.mjOBJ_CAMERA
    known = [found for i in range(model.ncam) if (found := mujoco.mj_id2name(model, kind, i))]
    if name is not None and not known:
        raise InvalidInputError(f"{task.id} has no camera {name!r}: its model has none by name")
    if name is not None:
        check_choice("camera", name, known)
    camera = mujoco.MjvCamera()
    if name is not None or FOLLOWING in known:
        camera.type = mujoco.mjtCamera.mjCAMERA_FIXED  # to the model, where it may follow
        camera.fixedcamid = mujoco.mj_name2id(model, kind, name or FOLLOWING)
        if name is None:  # text needs room, and Ant's feet come near it
            model.cam_fovy[camera.fixedcamid] *= 1.15
        return camera
    mujoco.mjv_defaultFreeCamera(model, camera)
    if task.name in VIEWS:
        camera.lookat[:], camera.distance, camera.elevation = VIEWS[task.name]
    return camera


def _context_class() -> Any:
    """MuJoCo's class for OpenGL contexts: the one set in MUJOCO_GL, or off-screen."""
    asked = os.environ.get("MUJOCO_GL", "").lower().strip()
    if asked in ("disable", "disabled", "off", "false", "0"):
        raise InvalidInputError(f"videos need OpenGL, which MUJOCO_GL={asked} turns off")
    found = asked if asked in _BACKENDS else "gl_context"
    if asked not in _BACKENDS and platform.system() == "Linux":
        found = next(name for name, library in _BACKENDS.items() if _is_there(library))
        if found == "glfw" and not os.environ.get("DISPLAY"):
            raise OSError("neither libEGL nor libOSMesa is there")
    return importlib.import_module(f"mujoco.{found}").GLContext


def _is_there(library: str | None) -> bool:
    try:
        return library is None or bool(ctypes.CDLL(library))
    except OSError:
        return False


@contextlib.contextmanager
def _gl_errors() -> Iterator[None]:
    """Report whatever MuJoCo raises if OpenGL is missing or broken, in one sentence."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of GLFW, which says the same again
            yield
    except InvalidInputError:
        raise
    except Exception as error:
        reason = first_line(error).rstrip(".")
        # Debian and Ubuntu need both packages to draw without a display.
        said = "videos need OpenGL (apt install libegl1 libgl1), which cannot be used here"
        raise InvalidInputError(f"{said}: {reason}") from None
