"""What a run on this machine makes of the GPUs that a cluster's manifest asks for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.combinations.parts import LEARNERS
from tests.manifests import fleet

from collectorfleet.local.gpus import (
    GpuShare,
    GpuShares,
    LearnerGpus,
    gpu_share,
    gpu_shares,
    learner_gpus,
    why_evaluators_have_no_gpu,
)
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Collectors, Resources


def asks(gpu: float, replicas: int = 4) -> Collectors:
    return Collectors(replicas=replicas, resources=Resources(gpu=gpu))


def test_a_fleet_without_gpus_needs_none() -> None:
    assert gpu_share(asks(0), gpus=0) == GpuShare(0)


def test_what_fits_is_taken_as_it_stands() -> None:
    assert gpu_share(asks(0.25), gpus=1) == GpuShare(0.25)
    assert gpu_share(asks(2, replicas=2), gpus=4) == GpuShare(2)


def test_a_machine_without_gpus_runs_on_the_cpu_and_says_so() -> None:
    share = gpu_share(asks(0.25), gpus=0)
    assert share == GpuShare(
        0,
        "collectors.resources.gpu is 0.25 for 4 collectors, but this machine has no GPU: collectors run on the CPU",
    )


def test_too_few_gpus_are_shared_equally() -> None:
    share = gpu_share(asks(1), gpus=1)
    assert share.per_collector == 0.25
    assert "this machine has 1 GPU: each collector gets 0.25 GPU" in share.note


@given(gpu=st.sampled_from([0.1, 0.3, 0.3333, 0.5, 1.0, 2.0]), replicas=st.integers(1, 50), gpus=st.integers(1, 8))
def test_whatever_is_given_can_be_placed(gpu: float, replicas: int, gpus: int) -> None:
    share = round(gpu_share(asks(gpu, replicas), gpus).per_collector * 10_000)
    assert share > 0
    room = gpus * 10_000 // share if share > 10_000 else gpus * (10_000 // share)
    assert room >= replicas


def groups(small: float, big: float) -> CollectorFleetSpec:
    """Of three collectors and of one."""
    small_group = {"name": "small", "replicas": 3, "resources": {"gpu": small}}
    return fleet({"spec.collectors.groups": [small_group, {"name": "big", "resources": {"gpu": big}}]}).spec


def test_groups_get_what_they_ask_for_where_all_of_it_fits() -> None:
    assert gpu_shares(groups(0, 1), gpus=1) == GpuShares({"small": 0, "big": 1})
    assert gpu_shares(groups(0.5, 1), gpus=3) == GpuShares({"small": 0.5, "big": 1})


def test_groups_that_ask_for_too_much_share_what_there_is() -> None:
    assert gpu_shares(groups(0, 1), gpus=0) == GpuShares(
        {"small": 0, "big": 0},
        "groups request GPUs for 1 collector, but this machine has no GPU: collectors run on the CPU",
    )
    assert gpu_shares(groups(0.5, 1), gpus=1).per_collector == {"small": 0.25, "big": 0.25}
    # The three small collectors request no GPU and get none.
    assert gpu_shares(groups(0, 2), gpus=1) == GpuShares(
        {"small": 0, "big": 1},
        "groups request GPUs for 1 collector, but this machine has 1 GPU: each such collector gets 1 GPU",
    )


def test_learners_have_gpus_where_there_are_enough_for_them_and_one_for_collectors_that_ask() -> None:
    spec = fleet({"spec.learners": {**LEARNERS, "gpus": 2}}).spec
    shared = fleet({"spec.learners": {**LEARNERS, "gpus": 2}, "spec.collectors.resources.gpu": 0.25}).spec
    assert learner_gpus(spec, 2) == learner_gpus(shared, 3) == LearnerGpus(2)
    assert learner_gpus(shared, 2) == LearnerGpus(
        0, "learners.gpus is 2, but this machine has 2 GPU for learners and collectors: policies learn on the CPU"
    )
    assert learner_gpus(spec, 0).note == "learners.gpus is 2, but this machine has no GPU: policies learn on the CPU"
    assert learner_gpus(fleet().spec, 0) == LearnerGpus(0)


def evaluates(gpu: float, collectors: float = 0, replicas: int = 2) -> CollectorFleetSpec:
    """Four collectors and ``replicas`` evaluators."""
    evaluation = {"replicas": replicas, "resources": {"gpu": gpu}}
    return fleet({"spec.evaluation": evaluation, "spec.collectors.resources.gpu": collectors}).spec


def test_evaluators_have_gpus_where_collectors_leave_enough() -> None:
    assert why_evaluators_have_no_gpu(fleet().spec, 0) == ""
    assert why_evaluators_have_no_gpu(evaluates(0), 0) == ""
    assert why_evaluators_have_no_gpu(evaluates(0.5), 1) == ""
    assert why_evaluators_have_no_gpu(evaluates(0.5, collectors=0.25), 2) == ""
    # Four of 0.2 and one of 0.2 are one GPU.
    assert why_evaluators_have_no_gpu(evaluates(0.2, collectors=0.2, replicas=1), 1) == ""


def test_evaluators_run_on_the_cpu_where_collectors_leave_too_little() -> None:
    wanted = "evaluation.resources.gpu is 0.5 for 2 evaluators"
    assert why_evaluators_have_no_gpu(evaluates(0.5), 0) == (
        f"{wanted}, but this machine has no GPU: evaluators run on the CPU"
    )
    crowded = f"{wanted}, but this machine has 1 GPU for evaluators and collectors: evaluators run on the CPU"
    assert why_evaluators_have_no_gpu(evaluates(0.5, collectors=0.25), 1) == crowded
    # Collectors share what there is, and leave nothing.
    assert why_evaluators_have_no_gpu(evaluates(0.5, collectors=1), 1) == crowded
