"""Frames that say their version themselves."""

from __future__ import annotations

import pytest
from tensordict import TensorDict
from tests import envs

from collectorfleet.actor.stamp import STAMP, SharedVersion, VersionStamp


@pytest.mark.parametrize(
    ("any_time", "recorded"),
    [
        pytest.param(False, [1, 3, 3, 4], id="weights come between steps"),
        pytest.param(True, [1, 1, 3, 3], id="weights come at any time"),
    ],
)
def test_a_frame_at_a_change_of_versions_records_the_older_one_where_weights_come_at_any_time(
    any_time: bool, recorded: list[int]
) -> None:
    shared = SharedVersion.create()
    stamp = VersionStamp(shared, any_time=any_time)
    found = []
    for version in (1, 3, 3, 4):
        shared.set(version)
        found.append(int(stamp._step(TensorDict(), TensorDict())[STAMP]))
    assert found == recorded


def test_the_version_is_written_beside_the_observation() -> None:
    env = envs.make_counting().append_transform(VersionStamp(SharedVersion.create(), any_time=False))
    assert env.rollout(2)["next", STAMP].tolist() == [0, 0]
