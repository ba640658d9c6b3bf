from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.example_count import examples

from collectorfleet_api.packing.pods import UNITS_PER_GPU
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.packing.shards import LearnerGroup, PodSize, ShardPacking, pack_shards

ROOMY = Fraction(100)


def pods(*gpus: int) -> list[PodSize]:
    return [PodSize(ROOMY, number) for number in gpus]


def packed(group: LearnerGroup, *gpus: int) -> ShardPacking:
    found = pack_shards(group, pods(*gpus))
    assert isinstance(found, ShardPacking), found
    return found


def refused(group: LearnerGroup, room: list[PodSize]) -> str:
    found = pack_shards(group, room)
    assert isinstance(found, Refusal), found
    return f"{found.field}: {found.message}"


@pytest.mark.parametrize(
    ("gpus", "max_policies", "per_pod", "slots", "share"),
    [
        pytest.param(4, 10, (1, 1, 1, 1), (3, 3, 2, 2), 0.3333, id="ten-policies-on-four-gpus"),
        pytest.param(8, 3, (2, 2, 2), (1, 1, 1), 2, id="three-on-eight"),
        pytest.param(8, 2, (4, 4), (1, 1), 4, id="two-on-eight"),
        pytest.param(2, 5, (1, 1), (3, 2), 0.3333, id="five-on-two"),
        pytest.param(8, 11, (8,), (2, 2, 2, 1, 1, 1, 1, 1), 0.5, id="eleven-on-eight"),
        pytest.param(0, 5, (0,), (1, 1, 1, 1, 1), 0, id="five-without-a-gpu"),
        pytest.param(4, 8, (1, 1, 1, 1), (2, 2, 2, 2), 0.5, id="eight-on-pods-of-one-gpu"),
        pytest.param(0.5, 3, (1,), (3,), 0.1666, id="three-on-half-a-gpu"),
    ],
)
def test_all_that_is_promised_is_placed(
    gpus: float, max_policies: int, per_pod: tuple[int, ...], slots: tuple[int, ...], share: float
) -> None:
    found = packed(LearnerGroup(max_policies, gpus), *per_pod)
    assert (found.slots, found.gpu_per_policy) == (slots, share)
    assert sum(found.slots) == max_policies


def test_what_no_policy_uses_is_said() -> None:
    assert packed(LearnerGroup(3, 8), 2, 2, 2).surplus_gpu == 2
    assert packed(LearnerGroup(10, 4), 4).surplus_gpu == 0.667


def test_a_given_number_of_shards_is_kept() -> None:
    fewer = packed(LearnerGroup(10, 4, shards=3), 4)
    assert (fewer.slots, fewer.gpu_per_policy) == ((4, 3, 3), 0.25)
    sharing = packed(LearnerGroup(8, 2, shards=4), 1, 1)
    assert (sharing.slots, sharing.gpu_per_policy) == ((2, 2, 2, 2), 0.25)
    between = packed(LearnerGroup(6, 4, shards=2), 2, 2)  # 0.6666 would fit once on each of two GPUs
    assert (between.slots, between.gpu_per_policy) == ((3, 3), 0.5)
    whole = packed(LearnerGroup(4, 8, shards=2), 4, 4)
    assert (whole.slots, whole.gpu_per_policy) == ((2, 2), 2)


def test_refusals_carry_their_numbers() -> None:
    assert (
        refused(LearnerGroup(2, 4, shards=4), pods(4)) == "shards: 2 policies cannot be split into 4 shards; use 1 to 2"
    )
    assert refused(LearnerGroup(3, 8), pods(1, 1, 1, 1, 1, 1, 1, 1)) == (
        "shards: a shard of 1 policy of 2 GPU requests 2 GPUs and 2 CPU in one pod, but the largest of 8 pods has 1 "
        "GPU and 100 CPU; use larger pods or more shards"
    )
    assert refused(LearnerGroup(10, 4), pods(1, 1, 1)) == (
        "shards: a shard of 3 policies of 0.3333 GPU requests 1 GPU and 4 CPU in one pod, but 3 pods can hold only 3 "
        "of 4 shards; add room for 1 more, or request less"
    )
    assert ", but 1 pod can hold only 1 of 2 shards; add room for 1 more, " in refused(
        LearnerGroup(2, shards=2), [PodSize(Fraction(3))]
    )
    assert refused(LearnerGroup(5), [PodSize(Fraction(3, 2))]) == (
        "shards: a shard of 1 policy requests 2 CPU in one pod, but the largest of 1 pod has 1500m CPU; use larger "
        "pods or more shards"
    )
    assert "but the largest of 3 pods has 2 GPUs and 100 CPU; " in refused(LearnerGroup(1, 4), pods(1, 2, 1))
    assert "but the largest of 0 pods has 0 CPU; " in refused(LearnerGroup(1), [])
    assert refused(LearnerGroup(20_000, 1), pods(1)) == (
        "gpus: 1 GPU for 20000 policies is less than 0.0001 each, the smallest step that Ray counts; "
        "use more GPUs or fewer policies"
    )
    assert refused(LearnerGroup(2, 1.5), pods(2)).startswith("gpus: 1.5 is more than one GPU and not whole")
    assert refused(LearnerGroup(0), pods(0)) == "max_policies: 0 is less than 1"
    assert refused(LearnerGroup(1, policy_cpus=Fraction(0)), pods(0)) == (
        "policy_cpus, replay_cpus: 0 or less reserves no room for a policy; use a number above 0, such as 0.1"
    )


gpus_asked = st.one_of(st.integers(0, 8).map(float), st.integers(1, 99).map(lambda percent: percent / 100))
groups = st.integers(1, 12).flatmap(
    lambda policies: st.builds(LearnerGroup, st.just(policies), gpus_asked, st.none() | st.integers(1, policies))
)
rooms = st.lists(st.builds(PodSize, st.integers(4, 40).map(Fraction), st.integers(0, 4)), min_size=1, max_size=8)


@settings(deadline=None, max_examples=examples(200))
@given(groups, rooms, st.data())
def test_in_whatever_order_a_scheduler_goes_it_places_all(
    group: LearnerGroup, room: list[PodSize], data: st.DataObject
) -> None:
    found = pack_shards(group, room)
    if isinstance(found, Refusal):
        return
    free = [(pod.cpus, [UNITS_PER_GPU] * pod.gpus) for pod in room]
    for slots in data.draw(st.permutations(found.slots)):
        fitting = [
            (index, after)
            for index, (cpus, gpus) in enumerate(free)
            if (after := with_shard(cpus, gpus, slots, found.gpu_units, data)) is not None
        ]
        assert fitting, (found, free)
        index, after = data.draw(st.sampled_from(fitting))
        free[index] = after


@given(groups, rooms)
def test_as_many_places_as_policies_and_evenly(group: LearnerGroup, room: list[PodSize]) -> None:
    found = pack_shards(group, room)
    if isinstance(found, ShardPacking):
        assert sum(found.slots) == group.max_policies
        assert max(found.slots) - min(found.slots) <= 1
        assert found.surplus_units >= 0
        assert found.gpu_units <= UNITS_PER_GPU or found.gpu_units % UNITS_PER_GPU == 0


def with_shard(
    cpus: Fraction, gpus: list[int], slots: int, share: int, data: st.DataObject
) -> tuple[Fraction, list[int]] | None:
    """What is left of a pod that takes a shard, each policy on any GPU that has room, or on as many free ones."""
    left, cpus = list(gpus), cpus - 1 - slots
    if cpus < 0:
        return None
    for _ in range(slots if share else 0):
        number, each = max(1, share // UNITS_PER_GPU), min(share, UNITS_PER_GPU)
        usable = [index for index, units in enumerate(left) if units >= each]
        if len(usable) < number:
            return None
        for index in data.draw(st.permutations(usable))[:number]:
            left[index] -= each
    return cpus, left
