"""Videos show the episode that is measured, and can be played and captioned."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import av
import gymnasium as gym
import numpy as np
import polars as pl
import pytest
from PIL import Image, ImageSequence

import mixedne
from mixedne import InvalidInputError
from mixedne.evaluation.attacks import Attacker
from mixedne.evaluation.handles import PolicyHandle, find_policy
from mixedne.games.attacks import Attack
from mixedne.tasks import Shift, resolve_task
from mixedne.tasks.registry import nominal_model
from mixedne.video import renderer
from mixedne.video.captions import FIELDS, caption_text, read_caption
from mixedne.video.renderer import Renderer
from mixedne.video.watch import Video, how_trained, watch
from mixedne.video.writer import ImageFile, TextOverlay, VideoFile
from probes.pictures import decode, skip_without_gl
from probes.policies import random_policy

HOPPER, PENDULUM = "Hopper-v5", "InvertedPendulum-v5"
SMALL: dict[str, Any] = {"size": (160, 120)}
EPISODE: dict[str, Any] = {"mass": 1.5, "noise": 0.3, "seed": 3, "episode": 2}
STRIP = TextOverlay((160, 120), 3).height


@pytest.fixture(autouse=True)
def _gl(request: pytest.FixtureRequest) -> None:
    if "without_gl" not in request.keywords:
        skip_without_gl()


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Video:
    """A pendulum that falls soon, heavier than it was, with noise."""
    skip_without_gl()
    out = tmp_path_factory.mktemp("videos") / "pendulum.mp4"
    return mixedne.watch(random_policy(PENDULUM), out, **EPISODE, **SMALL)


def test_the_film_shows_the_episode_that_is_measured(video: Video) -> None:
    table = mixedne.evaluate(random_policy(PENDULUM), mass=[1, 1.5], noise=0.3, seed=3, episodes=4)
    (row,) = table.filter((pl.col("mass") == 1.5) & (pl.col("episode") == 2)).to_dicts()
    assert video.row == row


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Video:
    """Two policies, one of them from elsewhere and in double precision, in two worlds."""
    skip_without_gl()
    out = tmp_path_factory.mktemp("videos") / "grid.mp4"
    policies = {"ours": random_policy(PENDULUM), "theirs": lambda x: -0.5 * x[:, :1]}
    return mixedne.watch(policies, out, PENDULUM, mass=[1, 2], episode=1, **SMALL)


def test_side_by_side_every_episode_is_the_one_that_is_measured(tmp_path: Path) -> None:
    """Also beside one that acts in double precision: Reacher's costs would be rounded otherwise."""
    policies = {"ours": random_policy("Reacher-v5"), "theirs": lambda x: -0.5 * x[:, :2]}
    options: dict[str, Any] = {"noise": [0, 0.3], "seed": 5}
    film = watch(policies, tmp_path / "a.mp4", "Reacher-v5", **options, seconds=0.1, **SMALL)
    rows = []
    for name, policy in policies.items():
        rows += mixedne.evaluate({name: policy}, "Reacher-v5", **options, episodes=1).to_dicts()
    assert [*film.rows] == rows


def test_a_grid_has_a_row_for_each_policy_and_a_column_for_each_world(grid: Video) -> None:
    seen = decode(grid.path).pictures
    lengths = [row["length"] for row in grid.rows]
    assert seen.shape == (max(lengths) + 1, 240, 320, 3)
    tiles = [seen[:, y : y + 120, x : x + 160] for y in (0, 120) for x in (0, 160)]
    for tile, length in zip(tiles, lengths, strict=True):
        world = tile[:, STRIP:]
        assert np.abs(world[0] - tiles[0][0, STRIP:]).mean() < 3  # all start alike
        assert np.abs(np.diff(world[: length + 1], axis=0)).mean(axis=(1, 2, 3)).max() > 0.3
        if length + 2 < max(lengths):  # stays as it is, but for losses of encoding
            assert np.abs(world[length + 2] - world[-1]).mean() < 2
    caption = read_caption(grid.path)
    assert caption is not None
    assert (caption["run"], caption["shift"]) == ("ours, theirs", "nominal world; mass × 2")
    assert caption["return"] is None


@pytest.mark.parametrize("suffix", [".webp", ".gif"])
def test_a_film_may_be_an_image(suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"a{suffix}"
    policy = random_policy(PENDULUM)
    film = watch([policy, policy], out, mass=2, **SMALL)
    with Image.open(out) as image:
        assert (image.size, image.n_frames) == ((320, 120), film.frames)  # type: ignore[attr-defined]
        assert (film.frames, image.info["loop"]) == (film.row["length"] + 1, 0)
        left, right = (np.asarray(image.convert("RGB"))[:, x : x + 160] for x in (0, 160))
    assert np.abs(left[STRIP:].astype(int) - right[STRIP:]).mean() < 8


@pytest.mark.without_gl
def test_a_gif_has_its_own_speed(tmp_path: Path) -> None:
    """It has hundredths of a second: of 30 pictures a second some are shown for four."""
    file = ImageFile(tmp_path / "a.gif", (64, 64), 30)
    for level in range(91):
        file.add(np.full((64, 64, 3), 2 * level, np.uint8))
    file.finish("", "")
    with Image.open(tmp_path / "a.gif") as image:
        times = [picture.copy().info["duration"] for picture in ImageSequence.Iterator(image)]
    assert (sum(times[:-1]), times[-1]) == (3000, 1000)


@pytest.mark.without_gl
def test_a_film_shows_one_task(tmp_path: Path) -> None:
    policies = [random_policy(HOPPER), random_policy("Hopper-v4")]
    with pytest.raises(InvalidInputError, match=r"was trained for Hopper-v5, but .* for Hopper-v4"):
        watch(policies, tmp_path / "a.mp4", HOPPER)


@pytest.mark.parametrize("task", [PENDULUM, "InvertedDoublePendulum-v5"])
def test_there_is_a_sky_and_a_floor(task: str) -> None:
    drawn = Renderer(resolve_task(task), (160, 120))
    picture = drawn.draw(nominal_model(resolve_task(task))[0].qpos0).astype(int)
    drawn.close()
    assert (picture.sum(axis=2) > 60).mean() > 0.97  # all but the edges of things
    sky, floor = picture[2, 2], picture[-2, 2]
    assert sky[2] > sky[0] + 20  # blue
    assert np.abs(sky - floor).max() > 20


def test_a_sampling_policy_is_filmed_as_it_is_measured(tmp_path: Path) -> None:
    policy = random_policy(PENDULUM, head="tanh-gaussian")
    video = watch(policy, tmp_path / "a.mp4", stochastic=True, seconds=0.1, **SMALL)
    table = mixedne.evaluate(policy, stochastic=True, episodes=1)
    assert [video.row] == table.to_dicts()
    assert video.row["acting"] == "stochastic"


def test_an_attacked_policy_is_filmed_as_it_is_measured(tmp_path: Path) -> None:
    policy, pusher = random_policy(PENDULUM), Attacker(Attack("force", 5.0, bodies="pole"))
    video = watch(policy, tmp_path / "a.mp4", attack=pusher, strength=2, seconds=0.1, **SMALL)
    assert [video.row] == mixedne.evaluate(policy, attack=pusher, strength=2, episodes=1).to_dicts()
    assert video.caption["shift"] == "attack on force pole at random, 2"


def test_the_film_plays(video: Video) -> None:
    seen = decode(video.path)
    assert (seen.codec, seen.pixels) == ("h264", "yuv420p")
    assert seen.rate == 25
    assert seen.pictures.shape == (video.row["length"] + 1, 120, 160, 3)
    assert video.frames == len(seen.pictures)
    world = seen.pictures[:, STRIP:]
    assert world.std(axis=(1, 2, 3)).min() > 10  # no picture is blank
    assert np.abs(world[-1] - world[0]).mean() > 1
    moves = np.abs(np.diff(world, axis=0)).mean(axis=(1, 2, 3))
    assert (moves[-3:] > 0.3).all()  # it falls
    content = video.path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")  # plays before it is all there


def test_the_strip_is_written_and_counts(video: Video) -> None:
    seen = decode(video.path).pictures[:, :STRIP]
    assert seen.mean() < 100
    assert seen.max() > 200
    assert (np.abs(seen[1:] - seen[:1]).max(axis=(1, 2, 3)) > 50).all()


def test_what_is_written_is_what_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Sequence[str]] = []
    real = TextOverlay.write

    def listen(self: TextOverlay, picture: Any, lines: Sequence[str]) -> Any:
        written.append(lines)
        return real(self, picture, lines)

    monkeypatch.setattr(TextOverlay, "write", listen)
    video = watch(random_policy(PENDULUM), tmp_path / "a.mp4", **EPISODE, **SMALL)
    name = find_policy(random_policy(PENDULUM)).name
    head = [f"{PENDULUM}   {name}", "mass × 1.5, action noise 0.3"]
    assert [lines[:2] for lines in written] == [head] * video.frames
    assert written[0][2] == "step 0   return 0.0"
    assert written[1][2] == "step 1   return 1.0"  # a pendulum that stands is paid 1
    assert written[-1][2] == f"step {video.row['length']}   return {video.row['return']:.1f}"


def test_overlay_changes_its_strip_alone() -> None:
    overlay = TextOverlay((320, 240), 2)
    picture = np.full((240, 320, 3), 120, np.uint8)
    first, second = (overlay.write(picture, ["δ × ρ", line]) for line in ("1", "2"))
    assert (picture == 120).all()
    assert (first[overlay.height :] == 120).all()
    assert first[: overlay.height].max() == 255
    assert np.median(first[: overlay.height]) == 40
    assert (first != second).any()
    long = overlay.write(picture, ["a\nname\x00 " * 99, ""])
    assert (long[:, -2:] == first[:, -2:]).all()  # cut before the edge


def test_a_shift_is_seen_and_measured(tmp_path: Path) -> None:
    policy, seen = random_policy(HOPPER), []
    for mass in (1.0, 1.5):
        out = tmp_path / f"{mass}.mp4"
        video = watch(policy, out, mass=mass, fps=25, **SMALL)
        # Reward in a Hopper comes from its motion: equal returns are the same episode.
        assert [video.row] == mixedne.evaluate(policy, mass=mass, episodes=1).to_dicts()
        seen.append(decode(out).pictures[:, STRIP:])
    same = min(map(len, seen))
    apart = np.abs(seen[0][:same] - seen[1][:same]).mean(axis=(1, 2, 3))
    assert apart[0] < 3  # the same start, each with its own losses of encoding
    assert apart.max() > 15


def test_frames_may_be_fewer_or_more_than_steps(video: Video, tmp_path: Path) -> None:
    length = video.row["length"]
    policy = random_policy(PENDULUM)

    def frames(**pace: Any) -> int:
        made = watch(policy, tmp_path / "a.mp4", **EPISODE, **pace, **SMALL, overwrite=True)
        assert made.row == video.row
        seen = decode(made.path)
        assert seen.rate == made.frames_per_second
        assert len(seen.pictures) == made.frames
        return made.frames

    end = length % 5 > 0  # the last step is seen, whatever is skipped
    assert frames(fps=5) == length // 5 + 1 + end
    assert frames(speed=5.0) == length // 5 + 1 + end
    assert frames(fps=5, speed=0.1) == 2 * length + 1
    assert frames(fps=50, seconds=0.1) == 5


def test_the_floor_and_the_light_go_with_the_robot() -> None:
    task = resolve_task("HalfCheetah")
    renderer = Renderer(task, (160, 120))
    position = np.zeros(9)
    tile = 80 / 60  # of the floor's texture
    near = renderer.draw(position).astype(int)
    position[0] = 300 * tile
    far = renderer.draw(position).astype(int)
    position[0] += tile / 4
    between = renderer.draw(position).astype(int)
    renderer.close()
    assert np.abs(far - near).mean() < 1
    assert np.abs(between - near).mean() > 5


def test_captions_survive_the_file(video: Video) -> None:
    caption = read_caption(video.path)
    assert caption == {"format_version": 1, **video.caption}
    assert caption["return"] == video.row["return"]
    assert caption["shift"] == "mass × 1.5, action noise 0.3"
    assert set(caption) == {"format_version", *FIELDS}


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "[1]",
        "{}",
        "[" * 5000,
        '{"format_version": 2, "task": "t", "run": "r", "shift": "s"}',
        '{"format_version": 1, "task": ["t"], "run": "r", "shift": "s"}',
    ],
)
@pytest.mark.without_gl
def test_other_films_have_no_caption(comment: str, tmp_path: Path) -> None:
    assert read_caption(_film_that_says(comment, tmp_path)) is None


@pytest.mark.without_gl
def test_captions_are_only_text(tmp_path: Path) -> None:
    said = {"format_version": 1, "task": "<b>\n\x00", "run": "r" * 900, "shift": "s", "evil": 1}
    said |= {"return": 10**400, "length": True, "frames": 3, "mass": 1e400}
    caption = read_caption(_film_that_says(json.dumps(said), tmp_path))
    assert caption is not None
    assert caption["task"] == "<b>��"
    assert len(caption["run"]) == 500
    assert [caption[name] for name in ("return", "length", "frames", "mass")] == [
        None,
        None,
        3,
        None,
    ]
    assert "evil" not in caption
    assert json.loads(caption_text({"return": float("nan")}))["return"] is None


@pytest.mark.without_gl
def test_files_that_are_no_films_have_no_caption(tmp_path: Path) -> None:
    text, other = tmp_path / "text.mp4", tmp_path / "other.mp4"
    text.write_text("mine")
    caption = caption_text({"task": "t", "run": "r", "shift": "s"})
    other.write_text(f";FFMETADATA1\ncomment={caption}\n")
    with av.open(str(other)) as opened:  # FFmpeg tells formats by their content
        assert opened.metadata["comment"] == caption
    for path in (text, other, tmp_path, tmp_path / "none.mp4"):
        assert read_caption(path) is None


def _film_that_says(comment: str, folder: Path) -> Path:
    path = folder / "other.mp4"
    with contextlib.closing(VideoFile(path, (64, 64), 10)) as video:
        video.add(np.zeros((64, 64, 3), np.uint8))
        video.finish("title", comment)
    with av.open(str(path)) as written:
        assert written.metadata["title"] == "title"
    return path


@pytest.mark.without_gl
def test_shifts_and_policies_in_words() -> None:
    assert str(Shift()) == "nominal world"
    shift = Shift(
        {"mass[foot]": 3.0, "friction[floor]": 0.25, "mass[torso]:abs": 4.0, "action-delay": 2},
        "consistent",
        mass=2.0,
        friction=0.5,
        noise=0.1,
    )
    assert str(shift) == (
        "mass × 2 (and inertia), mass of foot × 3, mass of torso 4 kg, friction × 0.5, "
        "friction of floor × 0.25, action noise 0.1, action delay in steps 2"
    )
    handle = PolicyHandle(
        "a", lambda _: np.zeros(1), {"agent": "td3", "solver": "gad", "delta": 0.1}
    )
    assert how_trained(handle, stochastic=False) == "td3, gad, δ 0.1"


def test_an_interrupted_film_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(done: int, total: int) -> None:
        if done > 10:
            raise KeyboardInterrupt

    out = tmp_path / "a.mp4"
    out.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        watch(random_policy(HOPPER), out, overwrite=True, progress=stop, **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]
    assert out.read_text() == "old"

    real = VideoFile.finish

    def breaks_off(self: VideoFile, title: str, comment: str) -> None:
        real(self, title, comment)
        raise OSError("no space left")

    monkeypatch.setattr(VideoFile, "finish", breaks_off)
    with pytest.raises(OSError, match="no space left"):
        watch(random_policy(PENDULUM), out, overwrite=True, **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]
    assert out.read_text() == "old"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass": 0}, "mass must be above 0"),
        ({"mass": "0.5:2:40"}, "at most 36 episodes, not those of 1 policies in 40 worlds"),
        ({"mass": [1, 2], "size": (4000, 100)}, "at most 4096 pixels wide and high, not 8000x100"),
        ({"noise": 1.5}, "noise must be at most 1"),
        ({"episode": -1}, "episode must be at least 0"),
        ({"episode": 0.5}, "episode must be a whole number"),
        ({"size": (161, 120)}, "size must be even numbers, not 161x120"),
        ({"size": (2, 2)}, "size must be from 64 to 4096"),
        ({"size": 640}, "size must be a width and a height"),
        ({"fps": 0}, "fps must be at least 1"),
        ({"out": "a.gif", "fps": 60}, "fps of a GIF must be at most 50"),
        ({"speed": 0}, "speed must be at least 0.01"),
        ({"seconds": 0}, "seconds must be above 0"),
        ({"seconds": float("nan")}, "seconds must be finite"),
        ({"camera": "trak"}, "did you mean 'track'?"),
        ({"shifts": {"mass[fot]": 2}}, "did you mean 'foot'?"),
        ({"out": "a.avi"}, "the video must end in .mp4 or .webp or .gif, not a.avi"),
        ({"out": "none/a.mp4"}, "there is no folder"),
        ({"out": "old.mp4"}, "exists: choose another file or pass overwrite=True"),
        ({"out": "folder.mp4"}, "is a folder"),
    ],
)
@pytest.mark.without_gl
def test_bad_input_is_refused_before_anything_is_drawn(
    options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_gl() -> None:
        raise AssertionError("drawing has begun")

    monkeypatch.setattr(renderer, "_context_class", no_gl)
    (tmp_path / "folder.mp4").mkdir()
    (tmp_path / "old.mp4").touch()
    out = tmp_path / options.pop("out", "a.mp4")
    with pytest.raises(InvalidInputError) as caught:
        watch(random_policy(HOPPER), out, **{"size": (160, 120), **options})
    assert message in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.mp4", "old.mp4"]


@pytest.mark.without_gl
def test_what_cannot_be_seen_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="there is nothing to see in toy"):
        watch(random_policy("toy"), tmp_path / "a.mp4")
    with pytest.raises(InvalidInputError, match="toy has no cameras to choose from"):
        watch(random_policy("toy"), tmp_path / "a.mp4", camera="track")
    assert not list(tmp_path.iterdir())


@pytest.mark.without_gl
def test_without_opengl_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MUJOCO_GL", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr(renderer, "_is_there", lambda library: library is None)
    with pytest.raises(InvalidInputError, match=r"apt install libegl1 libgl1\b"):
        watch(random_policy(HOPPER), tmp_path / "a.mp4")
    monkeypatch.setenv("MUJOCO_GL", "off")
    with pytest.raises(InvalidInputError, match="MUJOCO_GL=off turns off"):
        watch(random_policy(HOPPER), tmp_path / "a.mp4")
    assert not list(tmp_path.iterdir())


class Painted(gym.Env[Any, Any]):
    """A task without MuJoCo that draws itself, ever brighter."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012
    observation_space = gym.spaces.Box(-1.0, 1.0, (1,))
    action_space = gym.spaces.Box(-1.0, 1.0, (1,))

    def __init__(self, **options: Any) -> None:
        self.render_mode = options.get("render_mode")

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.time += 1
        return np.zeros(1, np.float32), float(action[0]), False, False, {}

    def render(self) -> Any:
        return np.full((50, 100, 3), 40 * self.time, np.uint8) if self.render_mode else None


@pytest.fixture
def painted() -> Iterator[str]:
    gym.register("Painted-v0", entry_point=Painted, max_episode_steps=5)
    yield "Painted-v0"
    del gym.registry["Painted-v0"]


@pytest.mark.without_gl
def test_other_tasks_draw_themselves(painted: str, tmp_path: Path) -> None:
    def act(observations: np.ndarray) -> np.ndarray:
        return np.full((len(observations), 1), 0.1)

    video = watch(act, tmp_path / "a.mp4", painted, noise=0.5, size=(200, 200))
    assert [video.row] == mixedne.evaluate(act, painted, noise=0.5, episodes=1).to_dicts()
    seen = decode(video.path)
    assert seen.rate == 10
    middle = seen.pictures[:, 125, 100].mean(axis=1)
    np.testing.assert_allclose(middle, 40.0 * np.arange(6), atol=4)
    assert seen.pictures[:, 160:].max() < 10  # bars, as its shape is another


@pytest.mark.without_gl
def test_importing_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import os, sys
from mixedne.video.captions import read_caption
read_caption("none.mp4")
print({"mujoco", "jax", "gymnasium"} & set(sys.modules))
import mixedne.video.watch
print({"MUJOCO_GL", "PYOPENGL_PLATFORM"} & set(os.environ), "OpenGL" in sys.modules)
"""
    for name in ("MUJOCO_GL", "PYOPENGL_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["set()", "set() False"]


def test_any_callable_can_be_filmed(tmp_path: Path) -> None:
    def act(observations: np.ndarray) -> np.ndarray:
        return 10 * observations[:, 1:2]

    video = watch(act, tmp_path / "a.mp4", PENDULUM, seconds=0.1, **SMALL)
    assert [video.row] == mixedne.evaluate(act, PENDULUM, episodes=1).to_dicts()
    with pytest.raises(InvalidInputError, match="does not say its task"):
        watch(lambda observations: observations, tmp_path / "b.mp4")
