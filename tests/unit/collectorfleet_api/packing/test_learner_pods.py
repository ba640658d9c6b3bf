"""The pods of learner shards: as few as their GPUs allow, and large enough for what is in them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectorfleet_api.packing.learner_pods import LearnerPods, ShardMemory, learner_pods
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.packing.shards import LearnerGroup, ShardPacking, pack_shards

GIB = Fraction(2**30)
MEMORY = ShardMemory(policy=2 * GIB, replay=4 * GIB)


def made(group: LearnerGroup) -> LearnerPods:
    found = learner_pods(group, MEMORY, Fraction(1, 2), Fraction(1, 4))
    assert isinstance(found, LearnerPods), found
    return found


@pytest.mark.parametrize(
    ("gpus", "max_policies", "shards", "pods", "of_pod", "gpus_of_pod"),
    [
        pytest.param(4, 10, None, 4, 1, 1, id="ten-policies-on-four-gpus"),
        pytest.param(8, 3, None, 3, 1, 2, id="three-on-eight"),
        pytest.param(8, 2, None, 2, 1, 4, id="two-on-eight"),
        pytest.param(2, 5, None, 2, 1, 1, id="five-on-two"),
        pytest.param(8, 11, None, 8, 1, 1, id="eleven-on-eight"),
        pytest.param(4, 8, None, 4, 1, 1, id="eight-on-four"),
        pytest.param(0, 5, None, 5, 1, 0, id="five-without-a-gpu"),
        pytest.param(0.5, 3, None, 1, 1, 1, id="three-on-half-a-gpu"),
        pytest.param(1, 3, 2, 1, 2, 1, id="two-shards-on-one-gpu"),
        pytest.param(2, 3, 3, 2, 2, 1, id="three-shards-on-two-gpus"),
    ],
)
def test_a_shard_has_a_pod_unless_it_shares_its_gpu(
    gpus: float, max_policies: int, shards: int | None, pods: int, of_pod: int, gpus_of_pod: int
) -> None:
    found = made(LearnerGroup(max_policies, gpus, shards))
    assert (found.pods, found.shards_per_pod, found.resources.gpus) == (pods, of_pod, gpus_of_pod)


def test_a_pod_has_what_its_actors_need_and_ray_beside_them() -> None:
    found = made(LearnerGroup(10, 4))
    assert (found.actors, found.ray_cpus) == (4, 4)
    assert found.resources.cpus == 3 * Fraction(1, 2) + Fraction(1, 4) + Fraction(1, 5)
    # 3 policies of 2Gi, a replay actor of 4Gi, 768Mi and 256Mi for each of the 4.
    assert found.resources.memory_bytes == (10 * 1024 + 768 + 4 * 256) * 2**20
    assert found.resources.object_store_bytes == (256 + 4 * 256) * 2**20


def test_what_cannot_be_split_is_refused_with_its_numbers() -> None:
    found = learner_pods(LearnerGroup(3, 1.5), MEMORY, Fraction(1), Fraction(1))
    assert isinstance(found, Refusal)
    assert found.field == "gpus"


gpus_asked = st.one_of(st.integers(0, 8).map(float), st.integers(1, 99).map(lambda percent: percent / 100))
groups = st.integers(1, 12).flatmap(
    lambda policies: st.builds(LearnerGroup, st.just(policies), gpus_asked, st.none() | st.integers(1, policies))
)


@settings(deadline=None, max_examples=300)
@given(groups)
def test_the_pods_hold_all_shards_and_one_fewer_would_not(group: LearnerGroup) -> None:
    found = made(group)
    held = pack_shards(group, found.sizes)
    assert held == found.packing
    assert isinstance(pack_shards(group, found.sizes[1:]), Refusal)
    assert isinstance(held, ShardPacking)
