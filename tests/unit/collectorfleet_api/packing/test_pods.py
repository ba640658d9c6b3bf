from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_api.packing.pods import UNITS_PER_GPU, Packing, WorkerGroup, pack, pack_groups
from collectorfleet_api.packing.refusal import Refusal


def packed(replicas: int, gpu: float, gpus_per_pod: int = 1, collectors_per_pod: int | None = None) -> Packing:
    found = pack(WorkerGroup(replicas, gpu, gpus_per_pod, collectors_per_pod))
    assert isinstance(found, Packing), found
    return found


def refused(gpu: float, gpus_per_pod: int = 1, collectors_per_pod: int | None = None) -> str:
    found = pack(WorkerGroup(16, gpu, gpus_per_pod, collectors_per_pod))
    assert isinstance(found, Refusal), found
    return f"{found.field}: {found.message}"


def test_four_quarter_gpu_collectors_share_a_pod_with_one_gpu() -> None:
    assert packed(16, 0.25) == Packing(replicas=16, per_pod=4, pods=4, gpus_per_pod=1, gpu_units=2500, surplus_units=0)


@pytest.mark.parametrize(
    ("gpu", "per_pod"),
    [(0.07, 14), (0.1, 10), (0.3333, 3), (0.3, 3), (0.6, 1), (1, 1), (0.0001, 10_000), (0.1 + 0.2, 3)],
)
def test_a_share_that_no_float_can_hold_exactly_is_counted_exactly(gpu: float, per_pod: int) -> None:
    assert packed(1, gpu).per_pod == per_pod


def test_what_is_left_of_a_gpu_holds_no_collector() -> None:
    # Two GPUs have 1.2 GPU left over beside two collectors of 0.6, and none of it is usable.
    found = packed(2, 0.6, gpus_per_pod=2)
    assert (found.per_pod, found.pods, found.surplus_gpu) == (2, 1, 0.8)


def test_shares_are_said_in_gpus() -> None:
    found = packed(5, 0.3, gpus_per_pod=2)
    assert (found.per_pod, found.pods) == (6, 1)
    assert found.gpu_per_collector == 0.3
    assert found.unused_gpu_per_pod == 0.2
    assert found.surplus_gpu == 0.5


def test_collectors_of_two_whole_gpus_fit_twice_into_five() -> None:
    found = packed(3, 2, gpus_per_pod=5)
    assert (found.per_pod, found.pods, found.surplus_gpu) == (2, 2, 4.0)


def test_without_a_gpu_each_collector_has_a_pod_unless_told_otherwise() -> None:
    assert (packed(5, 0).per_pod, packed(5, 0).pods, packed(5, 0).gpus_per_pod) == (1, 5, 0)
    assert packed(5, 0, collectors_per_pod=3).pods == 2


def test_refusals_carry_their_numbers() -> None:
    assert refused(1.5) == (
        "spec.collectors.resources.gpu: 1.5 is more than one GPU and not whole; "
        "use 1, 2, or a share below 1 such as 0.5"
    )
    assert refused(0.12345) == (
        "spec.collectors.resources.gpu: 0.12345 is finer than 0.0001 of a GPU, the smallest step that Ray counts; "
        "use 0.1234"
    )
    assert refused(4, gpus_per_pod=2) == (
        "spec.collectors.resources.gpu: a collector requests 4 GPUs, but a worker pod has 2 GPUs "
        "(spec.workers.gpu.perPod); set perPod to at least 4, or request fewer GPUs"
    )
    assert refused(0.25, collectors_per_pod=6) == (
        "spec.workers.collectorsPerPod: 6 collectors of 0.25 GPU do not fit on a worker pod with 1 GPU; "
        "use at most 4, or a spec.workers.gpu.perPod of at least 2"
    )
    assert refused(2, gpus_per_pod=2, collectors_per_pod=3) == (
        "spec.workers.collectorsPerPod: 3 collectors of 2 GPUs do not fit on a worker pod with 2 GPUs; "
        "use at most 1, or a spec.workers.gpu.perPod of at least 6"
    )
    for odd in (float("nan"), float("inf"), -0.5):
        assert refused(odd).startswith(f"spec.collectors.resources.gpu: {odd:g} is not a number of GPUs; use 0, ")


@pytest.mark.parametrize(("gpu", "near"), [(0.33335, "0.3333"), (0.00001, "0.0001"), (0.99999, "0.9999")])
def test_a_share_finer_than_ray_counts_is_refused_with_the_next_smaller_one(gpu: float, near: str) -> None:
    assert refused(gpu).endswith(
        f"{gpu!r} is finer than 0.0001 of a GPU, the smallest step that Ray counts; use {near}"
    )


def test_a_pod_has_one_gpu_and_collectors_ask_for_none_unless_told_otherwise() -> None:
    assert pack(WorkerGroup(8, 0.25)) == packed(8, 0.25, gpus_per_pod=1)
    assert pack(WorkerGroup(8)) == packed(8, 0)


def test_groups_are_packed_each_by_itself_in_the_order_of_their_names() -> None:
    found = pack_groups({"large": WorkerGroup(2, 2.0, gpus_per_pod=2), "cpu": WorkerGroup(3)})
    assert not isinstance(found, Refusal)
    assert [(name, group.pods, group.per_pod) for name, group in found.items()] == [("cpu", 3, 1), ("large", 2, 1)]


def test_one_group_that_cannot_be_packed_refuses_all() -> None:
    assert isinstance(pack_groups({"fine": WorkerGroup(1), "odd": WorkerGroup(1, 1.5)}), Refusal)


# From a 200th of a GPU, so that placing them one by one stays quick.
asked = st.one_of(st.integers(50, UNITS_PER_GPU).map(lambda units: units / UNITS_PER_GPU), st.integers(2, 8).map(float))


@given(st.integers(1, 500), asked, st.integers(1, 8), st.none() | st.integers(1, 64))
def test_no_collector_spans_two_gpus_and_one_pod_fewer_would_not_fit(
    replicas: int, gpu: float, gpus_per_pod: int, collectors_per_pod: int | None
) -> None:
    found = pack(WorkerGroup(replicas, gpu, gpus_per_pod, collectors_per_pod))
    if isinstance(found, Refusal):
        return
    assert placed(found.per_pod, gpu, gpus_per_pod)
    assert (found.pods - 1) * found.per_pod < replicas <= found.pods * found.per_pod
    if collectors_per_pod is None:
        assert not placed(found.per_pod + 1, gpu, gpus_per_pod)


@given(st.integers(1, 500), asked, st.integers(1, 8))
def test_surplus_and_use_add_up_to_the_gpus_of_all_pods(replicas: int, gpu: float, gpus_per_pod: int) -> None:
    found = pack(WorkerGroup(replicas, gpu, gpus_per_pod))
    if isinstance(found, Packing):
        assert found.surplus_units >= 0
        assert found.replicas * found.gpu_units + found.surplus_units == found.pods * gpus_per_pod * UNITS_PER_GPU


def placed(collectors: int, gpu: float, gpus: int) -> bool:
    """Puts collectors onto GPUs one by one, as a scheduler would: a share on one GPU, whole GPUs on free ones."""
    share = Fraction(str(gpu))
    free = [Fraction(1)] * gpus
    for _ in range(collectors):
        wanted = [i for i, left in enumerate(free) if left >= min(share, Fraction(1))][: max(1, int(share))]
        if len(wanted) < max(1, int(share)):
            return False
        for i in wanted:
            free[i] -= min(share, Fraction(1))
    return True
