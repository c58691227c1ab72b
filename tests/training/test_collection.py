"""Collection: what a stored transition holds, and episodes played again to the same bits."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.typing import NDArray

from mixedne import InvalidInputError, Players
from mixedne.config import configure
from mixedne.policies import Policy
from mixedne.tasks import Task, resolve_task
from mixedne.tasks.registry import PAPER_TASKS
from mixedne.training import collection
from mixedne.training.collection import Experience
from mixedne.training.replay import Layout
from mixedne.training.streams import episode_seed
from probes.faulty import Recorder
from probes.policies import random_policy
from probes.transitions import unpack

RECORDER = Task(
    name="recorder",
    version=None,
    max_episode_steps=5,
    observation_size=2,
    action_size=2,
    action_low=np.array([-2.0, 0.0]),
    action_high=np.array([6.0, 1.0]),
)


class Constant:
    """A policy that always plays one action."""

    is_stochastic = False

    def __init__(self, *action: float) -> None:
        self.action = np.array(action, np.float32)

    def unit(self, observation: Any) -> NDArray[np.float32]:
        assert observation.dtype == np.float32
        return self.action


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    env = Recorder()
    monkeypatch.setattr(collection, "make_game_env", lambda task, game: env)
    return env


def collector(
    formulation: str = "nr-mdp",
    delta: float = 0.25,
    sigma: float = 0.0,
    task: Task = RECORDER,
    **more: Any,
) -> tuple[Experience, Layout]:
    choices: dict[str, Any] = {"formulation": formulation, "delta": delta, "sigma": sigma, **more}
    made = Experience(configure("InvertedPendulum", **choices, seed=7), task, None)
    made.start()
    return made, made.layout


def collect(
    made: tuple[Experience, Layout], players: Players, count: int, *, at_random: bool = False
) -> dict[str, Any]:
    rows, _ = made[0].play(players, count, 0, at_random=at_random)
    return unpack(made[1], rows)


def test_a_row_by_hand(recorder: Recorder) -> None:
    made = collector()
    fields = collect(made, Players(Constant(0.5, -1.0), Constant(-0.5, 1.0)), 2)
    assert list(fields) == [
        *("observation", "agent_action", "adversary_action", "action"),
        *("reward", "terminated", "next_observation"),
    ]
    second = {name: field[1].tolist() for name, field in fields.items()}
    # 3/4 · 0.5 − 1/4 · 0.5 = 0.25 and −3/4 + 1/4 = −0.5, in the box 2 + 4 · 0.25 = 3
    # and 0.5 − 0.5 · 0.5 = 0.25.
    assert second == {
        "observation": [1.0, 1.0],
        "agent_action": [0.5, -1.0],
        "adversary_action": [-0.5, 1.0],
        "action": [0.25, -0.5],
        "reward": [20.0],
        "terminated": [0.0],
        "next_observation": [1.0, 2.0],
    }
    np.testing.assert_array_equal(recorder.actions, [[3.0, 0.25]] * 2)


def test_without_an_adversary_there_is_one_action(recorder: Recorder) -> None:
    fields = collect(collector(delta=0.0), Players(Constant(0.5, -1.0), None), 1)
    assert "agent_action" not in fields
    assert fields["action"].tolist() == [[0.5, -1.0]]
    np.testing.assert_array_equal(recorder.actions, [[4.0, 0.0]])


@pytest.mark.usefixtures("recorder")
def test_actions_are_clipped_before_they_are_mixed() -> None:
    made = collector(sigma=5.0)
    fields = collect(made, Players(Constant(0.0, 0.0), Constant(0.0, 0.0)), 200)
    a, b = fields["agent_action"], fields["adversary_action"]
    for player in (a, b):
        assert np.abs(player).max() == 1
        assert 0 < (np.abs(player) < 1).sum() < player.size
    assert not np.array_equal(a, b)  # each has noise of its own
    np.testing.assert_allclose(fields["action"], 0.75 * a + 0.25 * b, atol=1e-7)


@pytest.mark.usefixtures("recorder")
def test_exploration_has_the_deviation_sigma() -> None:
    made = collector(sigma=0.1)
    fields = collect(made, Players(Constant(0.2, 0.2), Constant(-0.2, -0.2)), 2000)
    for name, mean in (("agent_action", 0.2), ("adversary_action", -0.2)):
        # 4000 draws: the mean is good to 0.1/√4000 = 0.0016, the deviation to 0.0011.
        assert fields[name].mean() == pytest.approx(mean, abs=0.01)
        assert fields[name].std() == pytest.approx(0.1, abs=0.007)


def test_a_time_limit_is_no_termination(recorder: Recorder) -> None:
    made = collector()
    rows, finished = made[0].play(
        Players(Constant(0.0, 0.0), Constant(0.0, 0.0)), 13, 0, at_random=False
    )
    fields = unpack(made[1], rows)
    # Episodes of 5 steps (the limit), 3 (terminated) and 5 (the limit).
    assert np.flatnonzero(fields["terminated"]).tolist() == [7]
    assert finished == [(150.0, 5), (60.0, 3), (150.0, 5)]
    # The last transition of an episode leads to its own end, not to the next one's start.
    assert fields["next_observation"][[4, 7]].tolist() == [[1, 5], [2, 3]]
    assert fields["observation"][[5, 8]].tolist() == [[2, 0], [3, 0]]
    assert len(recorder.seeds) == 4


def test_numbers_that_float32_cannot_hold_are_refused(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = collector()
    players = Players(Constant(0.0, 0.0), Constant(0.0, 0.0))
    made[0].play(players, 6, 0, at_random=False)
    monkeypatch.setattr(recorder, "observation", lambda: np.array([0.0, 1e39]))
    expected = "step 2 of episode 1 returned an observation, not finite in float32"
    with pytest.raises(InvalidInputError, match=expected):
        made[0].play(players, 1, 1, at_random=False)


def test_seeds_come_from_the_runs_seed_and_the_episodes_number(recorder: Recorder) -> None:
    made = collector()
    players = Players(Constant(0.0, 0.0), Constant(0.0, 0.0))
    made[0].play(players, 13, 0, at_random=False)
    assert recorder.seeds == [episode_seed(7, number) for number in range(4)]
    assert len({episode_seed(seed, i) for seed in range(30) for i in range(30)}) == 900
    made[0].resume(2, np.zeros((2, 2), np.float32))
    assert recorder.seeds[4:] == [episode_seed(7, 2)]


@pytest.mark.usefixtures("recorder")
def test_random_actions_are_uniform() -> None:
    players = Players(Constant(0.0, 0.0), Constant(0.0, 0.0))
    fields = collect(collector(), players, 2000, at_random=True)
    for name in ("agent_action", "adversary_action"):
        drawn = fields[name]
        assert np.abs(drawn).max() <= 1
        # Tenths of [−1, 1]: 400 ± 19 of the 4000 numbers each.
        counts, _ = np.histogram(drawn, 10, (-1, 1))
        assert np.abs(counts - 400).max() < 5 * 19
    correlation = np.corrcoef(fields["agent_action"][:, 0], fields["adversary_action"][:, 0])
    assert abs(correlation[0, 1]) < 0.12  # five deviations of 1/√2000


def test_pr_mdp_takes_turns(recorder: Recorder) -> None:
    made = collector("pr-mdp", delta=0.25)
    fields = collect(made, Players(Constant(0.5, 0.5), Constant(-0.5, -0.5)), 4000)
    executed = fields["action"]
    by_adversary = (executed == -0.5).all(1)
    np.testing.assert_array_equal(by_adversary, ~(executed == 0.5).all(1))
    # 4000 turns: 0.25 ± 0.0068.
    assert by_adversary.mean() == pytest.approx(0.25, abs=5 * 0.0068)
    np.testing.assert_array_equal(np.array(recorder.actions)[:, 0] == 0, by_adversary)


def alone(made: tuple[Experience, Layout], count: int) -> dict[int, list[bool]]:
    """Per episode, for each of its steps, whether the agent's own action was executed."""
    players: Any = Players(Constant(0.5, -1.0), Constant(-0.5, 1.0))
    found: dict[int, list[bool]] = {}
    for cycle in range(count):
        number = made[0].episode.number
        rows, _ = made[0].play(players, 1, cycle, at_random=False)
        fields = unpack(made[1], rows)
        found.setdefault(number, []).append(bool((fields["action"] == [[0.5, -1.0]]).all()))
    return found


def test_the_agent_plays_a_share_of_the_episodes_alone(recorder: Recorder) -> None:
    for share in (0.0, 0.4, 1.0):
        episodes = alone(collector(alone_episodes=share), 1000).values()
        assert all(len(set(steps)) == 1 for steps in episodes)  # an episode as a whole
        played = np.mean([steps[0] for steps in episodes])
        assert played == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / len(episodes)))


def test_pr_mdp_has_no_turns_in_episodes_alone(recorder: Recorder) -> None:
    assert not all(all(steps) for steps in alone(collector("pr-mdp"), 200).values())
    assert all(all(steps) for steps in alone(collector("pr-mdp", alone_episodes=1.0), 200).values())


def test_an_episode_that_is_resumed_is_still_played_alone(recorder: Recorder) -> None:
    whole = alone(collector(alone_episodes=0.5), 200)
    assert len({steps[0] for steps in whole.values()}) == 2
    for number, steps in whole.items():
        made = collector(alone_episodes=0.5)
        made[0].resume(number, np.zeros((0, 2), np.float32))
        assert alone(made, 1) == {number: steps[:1]}


@pytest.mark.parametrize(
    ("formulation", "own"),
    [
        ("rarl", {}),
        ("parameters", {"parameters": ("mass=0.5:4",)}),
        ("parameters", {"parameters": ("mass=0.5:4",), "rate": 0.1}),
    ],
)
def test_an_agent_alone_meets_the_task_as_it_is(formulation: str, own: dict[str, Any]) -> None:
    task = resolve_task("Hopper-v5")
    config = configure(task.id, preset="robust", sigma=0.0, formulation=formulation, **own)
    made, env = Experience(config, task, None), gym.make(task.id)
    made.start()
    strongest = Constant(*[1.0] * made._game.sizes.adversary)
    players: Any = Players(Constant(0.5, -0.5, 0.1), strongest)
    kinds = set()
    for number in range(12):
        made.resume(number, np.zeros((0, made._game.executed.size), np.float32))
        rows, _ = made.play(players, 3, 0, at_random=False)
        env.reset(seed=episode_seed(config.seed, number))
        for _ in range(3):
            expected, *_ = env.step(players.agent.action)
        found = unpack(made.layout, rows)["next_observation"][-1, : task.observation_size]
        assert np.allclose(found, expected, atol=1e-4) == made.episode.alone
        kinds.add(made.episode.alone)
    made.close()
    env.close()
    assert kinds == {True, False}


def test_every_cycle_draws_anew() -> None:
    made = collector(sigma=0.1, task=resolve_task("InvertedPendulum"))
    players = Players(*(random_policy("InvertedPendulum", seed) for seed in range(2)))
    noise = []
    for cycle in (0, 1, 0):
        drawn, _, chance = made[0]._draws(5, cycle)
        noise.append((drawn.tolist(), chance.tolist()))
    assert noise[0] == noise[2] != noise[1]
    made[0].play(players, 5, 0, at_random=False)
    made[0].close()


@pytest.mark.parametrize("name", PAPER_TASKS)
def test_an_episode_played_again_goes_on_with_the_same_bits(name: str) -> None:
    task = resolve_task(name)
    players: Players[Policy] = Players(*(random_policy(name, seed, scale=0.1) for seed in range(2)))
    first, layout = collector(sigma=0.3, task=task)
    second, _ = collector(sigma=0.3, task=task)
    # Past at least one reset, so that what an earlier episode leaves behind would show.
    first.play(players, (task.max_episode_steps or 1000) + 7, 0, at_random=False)
    while not first.episode.actions:
        first.play(players, 1, 1, at_random=False)
    assert first.episode.number > 0
    second.resume(first.episode.number, np.array(first.episode.actions, np.float32))
    assert second.episode.number == first.episode.number
    assert second.episode.total_reward == first.episode.total_reward
    for cycle in range(2, 5):
        rows, ended = zip(
            *(made.play(players, 40, cycle, at_random=False) for made in (first, second)),
            strict=True,
        )
        np.testing.assert_array_equal(rows[0].view(np.uint32), rows[1].view(np.uint32))
        assert ended[0] == ended[1]
    observations = unpack(layout, rows[0])["observation"]
    assert (observations.std(0) > 0).any()
    for made in (first, second):
        made.close()
