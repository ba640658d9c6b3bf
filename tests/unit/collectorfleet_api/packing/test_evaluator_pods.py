"""The pods that hold evaluators: as few as their GPUs allow, and no larger than their evaluators need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_api.packing.evaluator_pods import pack_evaluators
from collectorfleet_api.packing.pods import Packing, collectors_that_fit
from collectorfleet_api.packing.refusal import Refusal


def packed(replicas: int, gpu: float, gpus_per_pod: int = 1) -> Packing:
    found = pack_evaluators(replicas, gpu, gpus_per_pod)
    assert isinstance(found, Packing), found
    return found


@pytest.mark.parametrize(
    ("replicas", "gpu", "gpus_per_pod", "pods", "per_pod", "gpus_of_pod"),
    [
        pytest.param(3, 0, 8, 3, 1, 0, id="without-a-gpu-a-pod-each"),
        pytest.param(4, 0.25, 1, 1, 4, 1, id="four-quarters-on-one-gpu"),
        pytest.param(2, 0.25, 8, 1, 2, 1, id="two-quarters-ask-for-one-gpu-and-not-for-eight"),
        pytest.param(5, 0.25, 1, 2, 3, 1, id="five-quarters-as-evenly-as-can-be"),
        pytest.param(6, 0.5, 2, 2, 3, 2, id="six-halves-in-pods-of-two-gpus"),
        pytest.param(3, 1, 2, 2, 2, 2, id="three-whole-gpus-in-pods-of-two"),
        pytest.param(1, 2, 4, 1, 1, 2, id="one-evaluator-on-two-gpus"),
        pytest.param(2, 0.6, 1, 2, 1, 1, id="what-is-left-of-a-gpu-holds-no-evaluator"),
    ],
)
def test_evaluators_share_pods_as_collectors_do_and_leave_gpus_that_they_do_not_need(
    replicas: int, gpu: float, gpus_per_pod: int, pods: int, per_pod: int, gpus_of_pod: int
) -> None:
    found = packed(replicas, gpu, gpus_per_pod)
    assert (found.pods, found.per_pod, found.gpus_per_pod) == (pods, per_pod, gpus_of_pod)


@given(
    replicas=st.integers(1, 100),
    gpu=st.sampled_from([0.0001, 0.1, 0.25, 0.3333, 0.5, 0.6, 1.0, 2.0, 3.0]),
    gpus_per_pod=st.integers(3, 64),
)
def test_every_evaluator_has_a_place_and_no_gpu_of_a_pod_is_left_over(
    replicas: int, gpu: float, gpus_per_pod: int
) -> None:
    found = packed(replicas, gpu, gpus_per_pod)
    assert found.per_pod * found.pods >= replicas > found.per_pod * (found.pods - 1) - found.pods
    assert 1 <= found.gpus_per_pod <= gpus_per_pod
    assert collectors_that_fit(found.gpu_units, found.gpus_per_pod) >= found.per_pod
    if found.gpus_per_pod > 1:
        assert collectors_that_fit(found.gpu_units, found.gpus_per_pod - 1) < found.per_pod


@pytest.mark.parametrize(("gpu", "gpus_per_pod"), [(2, 1), (1.5, 4), (0.00005, 1)])
def test_an_evaluator_that_no_pod_can_hold_is_refused(gpu: float, gpus_per_pod: int) -> None:
    assert isinstance(pack_evaluators(1, gpu, gpus_per_pod), Refusal)
