"""Custom resources of Ray in packing: a pod has as many collectors as the scarcest of what it has is enough for."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_api.packing.custom import CustomResources, scarcest
from collectorfleet_api.packing.pods import Packing, WorkerGroup, pack
from collectorfleet_api.packing.refusal import Refusal


def group(
    asked: dict[str, float], per_pod: dict[str, int], *, gpu: float = 0, collectors_per_pod: int | None = None
) -> WorkerGroup:
    return WorkerGroup(12, gpu, 1, collectors_per_pod, CustomResources(asked, per_pod))


def packed(found: Packing | Refusal) -> Packing:
    assert isinstance(found, Packing), found
    return found


def refused(found: Packing | Refusal) -> str:
    assert isinstance(found, Refusal), found
    return f"{found.field}: {found.message}"


@pytest.mark.parametrize(
    ("asked", "per_pod", "gpu", "fitting"),
    [
        pytest.param({"license": 1}, {"license": 4}, 0, 4, id="one each"),
        pytest.param({"license": 0.5}, {"license": 4}, 0, 8, id="half a licence"),
        pytest.param({"license": 0.6}, {"license": 2}, 0, 3, id="a sum, and not one by one"),
        pytest.param({"license": 0.1 + 0.2}, {"license": 3}, 0, 10, id="computed in floats"),
        pytest.param({"license": 3}, {"license": 4}, 0, 1, id="a rest that nobody uses"),
        pytest.param({"license": 1, "disk": 1}, {"license": 4, "disk": 2}, 0, 2, id="the scarcest of two"),
        pytest.param({"license": 1}, {"license": 3}, 0.25, 3, id="fewer than share the GPU"),
        pytest.param({"license": 1}, {"license": 9}, 0.25, 4, id="more than share the GPU"),
        pytest.param({}, {"license": 9}, 0, 1, id="of which nobody asks"),
    ],
)
def test_the_scarcest_of_what_a_pod_has_says_how_many_it_holds(
    asked: dict[str, float], per_pod: dict[str, int], gpu: float, fitting: int
) -> None:
    assert packed(pack(group(asked, per_pod, gpu=gpu))).per_pod == fitting


def test_what_the_gpus_of_a_pod_have_left_beside_licences_is_surplus() -> None:
    found = packed(pack(group({"license": 1}, {"license": 3}, gpu=0.25)))
    assert (found.per_pod, found.pods, found.surplus_gpu) == (3, 4, 1.0)


def test_fewer_in_a_pod_than_fit_may_be_asked_for() -> None:
    assert packed(pack(group({"license": 1}, {"license": 4}, collectors_per_pod=3))).pods == 4


def test_refusals_carry_their_numbers() -> None:
    assert refused(pack(group({"license": 2}, {"license": 1}))) == (
        "spec.collectors.resources.custom.license: a collector requests 2 license, but a worker pod has 1 "
        "(spec.workers.customPerPod); raise this amount to at least 2, or request less"
    )
    assert refused(pack(group({"license": 1.5}, {}))) == (
        "spec.collectors.resources.custom.license: a collector requests 1.5 license, but a worker pod has 0 "
        "(spec.workers.customPerPod); raise this amount to at least 2, or request less"
    )
    assert refused(pack(group({"license": 0.00015}, {"license": 1}))) == (
        "spec.collectors.resources.custom.license: 0.00015 is finer than 0.0001, the smallest step that Ray counts; "
        "use 0.0001"
    )
    assert refused(pack(group({"disk": 1, "license": 0.6}, {"disk": 9, "license": 2}, collectors_per_pod=4))) == (
        "spec.workers.collectorsPerPod: 4 collectors of 0.6 license do not fit on a worker pod with 2 license; "
        "use at most 3, or a spec.workers.customPerPod of at least 3"
    )


@pytest.mark.parametrize(
    ("amount", "near"), [(0.00029, "0.0002"), (0.00001, "0.0001"), (0.0, "0.0001"), (1.23456, "1.2345")]
)
def test_an_amount_finer_than_ray_counts_is_refused_with_the_next_smaller_one(amount: float, near: str) -> None:
    said = refused(pack(group({"license": amount}, {"license": 2})))
    assert said.endswith(f"license: {amount!r} is finer than 0.0001, the smallest step that Ray counts; use {near}")


def test_the_smallest_step_that_ray_counts_is_taken() -> None:
    assert packed(pack(group({"license": 0.0001}, {"license": 1}))).per_pod == 10_000


def test_all_of_a_pod_may_be_asked_for_by_one_collector() -> None:
    assert packed(pack(group({"license": 2}, {"license": 2}))).per_pod == 1
    assert refused(pack(group({"license": 2.0001}, {"license": 2}))) == (
        "spec.collectors.resources.custom.license: a collector requests 2.0001 license, but a worker pod has 2 "
        "(spec.workers.customPerPod); raise this amount to at least 3, or request less"
    )


def test_the_scarcest_is_the_one_that_is_enough_for_the_fewest_and_the_first_of_two_alike() -> None:
    asked = {"license": 1.0, "disk": 1.0, "camera": 0.5}
    assert scarcest(CustomResources(asked, {"license": 2, "disk": 4, "camera": 4})) == "license"
    assert scarcest(CustomResources(asked, {"license": 4, "disk": 4, "camera": 4})) == "disk"
    assert scarcest(CustomResources({"b": 1.0, "a": 0.5}, {"a": 3, "b": 4})) == "b"


amounts = st.integers(1, 60_000).map(lambda units: units / 10_000)
names = st.sampled_from(["license", "disk", "camera"])


@given(
    st.integers(1, 500),
    st.dictionaries(names, amounts),
    st.dictionaries(names, st.integers(1, 20)),
    st.sampled_from([0.0, 0.25, 0.3, 1.0, 2.0]),
    st.integers(1, 4),
    st.none() | st.integers(1, 64),
)
def test_a_pod_has_enough_for_its_collectors_and_one_more_would_lack_something(
    replicas: int,
    asked: dict[str, float],
    per_pod: dict[str, int],
    gpu: float,
    gpus_per_pod: int,
    collectors_per_pod: int | None,
) -> None:
    custom = CustomResources(asked, per_pod)
    found = pack(WorkerGroup(replicas, gpu, gpus_per_pod, collectors_per_pod, custom))
    without = pack(WorkerGroup(replicas, gpu, gpus_per_pod, collectors_per_pod))

    def enough(count: int) -> bool:
        return all(Fraction(str(one)) * count <= per_pod.get(name, 0) for name, one in asked.items())

    if isinstance(found, Refusal):
        assert isinstance(without, Refusal) or not enough(collectors_per_pod or 1)
        return
    assert enough(found.per_pod)
    assert (found.pods - 1) * found.per_pod < replicas <= found.pods * found.per_pod
    if collectors_per_pod is None and asked:
        fits_on_gpus = packed(without).per_pod if gpu else found.per_pod + 1
        assert found.per_pod == fits_on_gpus or not enough(found.per_pod + 1)
        assert found.per_pod <= fits_on_gpus
