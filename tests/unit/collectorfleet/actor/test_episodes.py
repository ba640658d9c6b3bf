"""Episodes are counted as they are, however rollouts cut them."""

from __future__ import annotations

from collections import defaultdict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict import TensorDict

from collectorfleet.actor.episodes import EpisodeCounter
from collectorfleet.codec.frames import MASK_KEY, TRAJECTORY_KEY


def rollout(ids: torch.Tensor, reward: torch.Tensor, done: torch.Tensor) -> TensorDict:
    """``[..., T]``, as TorchRL's collectors make them."""
    data = TensorDict({"next": {"reward": reward.unsqueeze(-1), "done": done.unsqueeze(-1)}}, ids.shape)
    data[TRAJECTORY_KEY] = ids
    return data


def played(envs: int, steps: list[list[tuple[float, bool]]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids, rewards and ends ``[envs, T]`` of environments that begin a new trajectory after each end."""
    ids, following = torch.zeros(envs, len(steps), dtype=torch.int64), envs
    current = list(range(envs))
    for time, step in enumerate(steps):
        for env, (_, done) in enumerate(step):
            ids[env, time] = current[env]
            if done:
                current[env], following = following, following + 1
    reward = torch.tensor([[reward for reward, _ in step] for step in steps], dtype=torch.float64).T
    done = torch.tensor([[done for _, done in step] for step in steps]).T
    return ids, reward, done


@given(st.data(), st.integers(1, 3), st.integers(1, 30))
def test_returns_and_lengths_are_those_of_the_trajectories_wherever_batches_end(
    data: st.DataObject, envs: int, length: int
) -> None:
    step = st.lists(st.tuples(st.integers(-5, 5).map(float), st.booleans()), min_size=envs, max_size=envs)
    ids, reward, done = played(envs, data.draw(st.lists(step, min_size=length, max_size=length)))
    wanted = defaultdict[int, list[float]](list)
    for id_, gained in zip(ids.flatten().tolist(), reward.flatten().tolist(), strict=True):
        wanted[id_].append(gained)
    over = ids[done].tolist()

    counter, found, at = EpisodeCounter(), [], 0
    while at < length:
        size = data.draw(st.integers(1, length - at))
        part = slice(at, at + size)
        ended = counter.ended(rollout(ids[:, part], reward[:, part], done[:, part]))
        assert ended is not None
        found += zip(ended.returns, ended.lengths, strict=True)
        at += size
    assert sorted(found) == sorted((sum(wanted[id_]), len(wanted[id_])) for id_ in over)


def test_what_is_masked_is_in_no_episode() -> None:
    data = rollout(torch.zeros(1, 4, dtype=torch.int64), torch.ones(1, 4), torch.tensor([[False, True, False, True]]))
    data[MASK_KEY] = torch.tensor([[True, True, False, False]])
    ended = EpisodeCounter().ended(data)
    assert ended is not None
    assert (ended.returns, ended.lengths) == ((2.0,), (2,))


@pytest.mark.parametrize("without", [TRAJECTORY_KEY, ("next", "reward"), ("next", "done")])
def test_frames_that_do_not_say_it_have_no_episodes(without: tuple[str, str]) -> None:
    data = rollout(torch.zeros(1, 4, dtype=torch.int64), torch.ones(1, 4), torch.ones(1, 4, dtype=torch.bool))
    assert EpisodeCounter().ended(data.exclude(without)) is None


def test_several_rewards_of_a_frame_make_no_return() -> None:
    data = rollout(torch.zeros(1, 4, dtype=torch.int64), torch.ones(1, 4), torch.ones(1, 4, dtype=torch.bool))
    data["next", "reward"] = torch.ones(1, 4, 2)
    assert EpisodeCounter().ended(data) is None
