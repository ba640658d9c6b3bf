"""What ``spec.evaluation`` becomes in FleetCollector."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest
from torchrl.envs.utils import ExplorationType

from collectorfleet.actor.simulator.options import SimulatorProcess
from collectorfleet.errors import InvalidOption
from collectorfleet.evaluation.options import Evaluation, Video
from collectorfleet.evaluation.state.schedule import Interval
from collectorfleet.run.collector_options import collector_options
from collectorfleet.run.evaluation_options import evaluation_of, evaluation_of_script
from collectorfleet.user_code import Factory
from collectorfleet_api.names import EVALUATOR_RESOURCE
from collectorfleet_api.v1alpha1 import CollectorFleetSpec
from collectorfleet_api.v1alpha1 import Evaluation as EvaluationSpec

# What one side has alone, and why.
FIELDS_ONLY_IN_MANIFESTS = {
    "environment": "create_env_fn is the factory with its kwargs",
    "resources": "threads and remote_config follow from it; the operator sizes pods by its memory",
    "template": "about pods",
    "stop_when": "stop_at_return is its only condition",
    "timeout_seconds": "timeout",
}
OPTIONS_ONLY_IN_PYTHON = {
    "create_env_fn": "environment",
    "process": "environment.process",
    "create_env_kwargs": "a factory of a manifest has its kwargs with it",
    "device": "resources.gpu",
    "threads": "resources.cpu",
    "remote_config": "resources.cpu and resources.gpu",
    "stop_at_return": "stopWhen.returnMean",
    "timeout": "timeoutSeconds",
}


def spec(evaluation: dict[str, Any] | None, **changes: Any) -> CollectorFleetSpec:
    said: dict[str, Any] = {
        "image": "-",
        "environment": {"factory": "lab:make_env", "kwargs": {"size": 1, "level": 2}},
        "policy": {"factory": "lab:make_policy"},
        "driver": {"train": {"function": "lab:train"}},
        "collection": {"framesPerBatch": 100},
        **changes,
    }
    if evaluation is not None:
        said["evaluation"] = evaluation
    return CollectorFleetSpec.from_wire(said)


def made(evaluation: dict[str, Any], **changes: Any) -> Evaluation:
    found = evaluation_of(spec(evaluation, **changes))
    assert found is not None
    return found


def test_each_field_of_a_manifest_is_an_argument() -> None:
    here, there = set(EvaluationSpec.model_fields), {field.name for field in fields(Evaluation)}
    assert here - there == FIELDS_ONLY_IN_MANIFESTS.keys()
    assert there - here == OPTIONS_ONLY_IN_PYTHON.keys()


def test_a_spec_without_evaluation_evaluates_nothing() -> None:
    assert evaluation_of(spec(None)) is None
    assert "evaluation" not in collector_options(spec(None), {"collectors": 0.0})


def test_everything_that_a_manifest_says_arrives() -> None:
    found = made(
        {
            "replicas": 3,
            "resources": {"cpu": "1500m"},
            "environment": {"factory": "lab:make_test_env", "kwargs": {"level": 9}},
            "explorationType": "Random",
            "everyFrames": 5000,
            "episodes": 7,
            "seeds": [4, 5],
            "timeoutSeconds": 30,
            "stopWhen": {"returnMean": 450},
            "keepBest": True,
            "video": {"episodes": 2, "everyEvaluations": 3, "pixelKey": "pixels"},
        },
        driver={"train": {"function": "lab:train"}, "checkpoint": {"claimName": "claim"}},
    )
    assert found == Evaluation(
        replicas=3,
        create_env_fn=Factory("lab:make_test_env", {"level": 9}),
        exploration_type=ExplorationType.RANDOM,
        every_frames=5000,
        episodes=7,
        seeds=(4, 5),
        timeout=timedelta(seconds=30),
        stop_at_return=450,
        keep_best=True,
        video=Video(2, 3, "pixels"),
        threads=2,
        remote_config={"num_cpus": 2, "num_gpus": 0, "resources": {EVALUATOR_RESOURCE: 1}},
    )


def test_a_video_of_a_manifest_has_the_defaults_of_python() -> None:
    assert made({}).video is None
    assert made({"video": {}}).video == Video()


def test_an_interval_of_ten_versions_is_the_default() -> None:
    assert made({}).interval == Interval(versions=10)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, Factory("lab:make_env", {"size": 1, "level": 2})),
        ({"kwargs": {"level": 9}}, Factory("lab:make_env", {"size": 1, "level": 9})),
        ({"factory": "lab:other"}, Factory("lab:other", {})),
    ],
    ids=["the training environment", "other arguments", "another factory"],
)
def test_evaluators_play_the_training_environment_unless_the_manifest_says_another(
    own: dict[str, Any], expected: Factory
) -> None:
    assert made({"environment": own}).create_env_fn == expected


SIMULATOR = {"command": ["./sim", "{grpc}"], "ports": ["grpc"]}
OWN = {"command": ["./own"], "ports": ["grpc"], "readyTimeoutSeconds": 5}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, SimulatorProcess(["./sim", "{grpc}"], ["grpc"])),
        ({"kwargs": {"level": 9}}, SimulatorProcess(["./sim", "{grpc}"], ["grpc"])),
        ({"process": OWN}, SimulatorProcess(["./own"], ["grpc"], timedelta(seconds=5))),
        ({"factory": "lab:other", "process": OWN}, SimulatorProcess(["./own"], ["grpc"], timedelta(seconds=5))),
        ({"factory": "lab:other"}, None),
    ],
    ids=["the collectors'", "the collectors' with other arguments", "its own", "that of another factory", "none"],
)
def test_evaluators_start_the_simulator_of_the_environment_that_they_play(
    own: dict[str, Any], expected: SimulatorProcess | None
) -> None:
    environment = {"factory": "lab:make_env", "process": SIMULATOR}
    assert made({"environment": own}, environment=environment).process == expected


def test_without_ray_evaluators_are_processes() -> None:
    found = made({}, launcher="Job", collection={"framesPerBatch": 100, "transport": "TorchDistributed"})
    assert found.remote_config is None


@pytest.mark.parametrize(("gpu", "num_gpus"), [(0.25, 0.25), (2, 2), (0.1 + 0.2, 0.3)])
def test_evaluators_that_ask_for_a_gpu_play_on_it(gpu: float, num_gpus: float) -> None:
    found = made({"resources": {"gpu": gpu}})
    assert found.device == "cuda"
    assert found.remote_config == {"num_cpus": 1, "num_gpus": num_gpus, "resources": {EVALUATOR_RESOURCE: 1}}


def test_on_a_machine_without_a_gpu_for_them_evaluators_play_on_the_cpu() -> None:
    asked = spec({"resources": {"gpu": 1}})
    found = collector_options(asked, {"collectors": 0.0}, evaluators_on_gpus=False)["evaluation"]
    assert found.device is None
    assert found.remote_config["num_gpus"] == 0
    assert collector_options(asked, {"collectors": 0.0})["evaluation"].device == "cuda"


@pytest.mark.parametrize(
    ("scripts", "manifests", "expected", "warned"),
    [
        (None, "cuda", "cuda", False),
        ("cuda:0", "cuda", "cuda:0", False),
        (None, None, None, False),
        ("cuda", None, None, True),
    ],
    ids=["of the manifest", "of the script", "none", "of a script without a GPU"],
)
def test_a_scripts_evaluation_is_on_a_device_that_the_manifest_has_for_it(
    caplog: pytest.LogCaptureFixture, scripts: str | None, manifests: str | None, expected: str | None, warned: bool
) -> None:
    found = evaluation_of_script(Evaluation(device=scripts), Evaluation(device=manifests))
    assert found is not None
    assert found.device == expected
    told = "evaluation: the script's device cuda is ignored, because evaluators have no GPU here; " in caplog.text
    assert told == bool(caplog.records) == warned


def test_a_scripts_evaluation_runs_on_the_pods_of_the_manifest() -> None:
    manifests = Evaluation(replicas=3, threads=2, remote_config={"num_cpus": 2}, episodes=5)
    scripts = Evaluation(replicas=1, episodes=50, create_env_fn=spec)
    found = evaluation_of_script(scripts, manifests)
    assert found is not None
    assert (found.episodes, found.create_env_fn) == (50, spec)
    assert (found.replicas, found.threads, found.remote_config) == (3, 2, {"num_cpus": 2})


def test_a_manifests_evaluation_holds_for_a_script_that_says_nothing() -> None:
    manifests = Evaluation(episodes=5)
    assert evaluation_of_script(None, manifests) is manifests
    assert evaluation_of_script(None, None) is None


def test_a_script_cannot_evaluate_without_pods_for_evaluators() -> None:
    with pytest.raises(InvalidOption, match=r"no spec\.evaluation, so the fleet has no evaluators"):
        evaluation_of_script(Evaluation(), None)
