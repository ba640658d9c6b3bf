"""An option of a fleet, its default and its rules are the same in a manifest and in Python, or it says here why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from functools import reduce
from types import SimpleNamespace
from typing import Any, get_origin

import pytest
from pydantic.fields import FieldInfo
from tests.combinations import GO_TOGETHER, REFUSED
from tests.manifests import ABSENT, fleet
from torch import nn

from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.rules.collectors import FLEETS_OWN
from collectorfleet.fleet.rules.table import RULES
from collectorfleet.run.collector_options import ARGUMENTS, Built, Derived, Plain, collector_options
from collectorfleet_api.names import WORKER_GROUP
from collectorfleet_api.rules.collector_kwargs import FIELDS
from collectorfleet_api.rules.combinations.scripts import SCRIPTS
from collectorfleet_api.rules.combinations.table import COMBINATIONS
from collectorfleet_api.rules.validation import CHECKS
from collectorfleet_api.schema.crd import schema
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Factory, Model
from collectorfleet_api.v1alpha1.base import inner_model

PARTS = ("environment", "policy", "collection", "collectors", "weights", "replayBuffer")

# ---------------------------------------------------------------- what one side has alone, and why
FIELDS_ONLY_IN_MANIFESTS = {
    "collectors.resources.memory": "worker pods are sized by it; Ray reserves none for a collector",
    "collectors.resources.custom": "in Python it stands in remote_configs, which is collectors.resources.gpu's",
    "replayBuffer.checkpoint": "who has checkpoints of their own dumps the buffer too",
}
OPTIONS_ONLY_IN_PYTHON = {
    "create_env_kwargs": "a factory of a manifest has its kwargs with it",
    "policy_factory": "a manifest's policy is built in the driver, which trains it",
    "ray_init_config": "the operator makes the Ray cluster, or `collectorfleet run` a local one",
    "launcher": "the surroundings of a run say what starts its processes",
    "tensorpipe_options": "of transport rpc, whose collectors are processes of one machine",
    "visible_devices": "of transport rpc, whose collectors are processes of one machine",
    "use_env_creator": "collectors build their environments themselves",
    "weight_updater": "refused",
    "weight_sync_schemes": "refused",
    "weight_recv_schemes": "refused",
    "resume_from": "a restarted driver goes on by itself",
    "curriculum": "driver.curriculum, which the driver imports with the rest of its own code",
    "evaluation": "one argument for all of spec.evaluation, see test_evaluation_options",
}
OTHER_DEFAULTS = {
    "collection.framesPerBatch": "a script says it, and not the manifest",
    "environment": "a script says it, and not the manifest",
    "collection.mode": "Sync; Python keeps RayCollector's default, Async",
    "collectors.class": "a name for the same class",
    "collectors.replicas": "in Python lists say how many collectors there are too",
    "collectors.resources.gpu": "on Kubernetes a collector is placed by a resource that only worker pods have",
    "weights.updateAfterEachBatch": "a training function wants it; Python keeps RayCollector's default, not to",
}
LEAST_ONLY_IN_MANIFESTS = {
    "collection.totalFrames": "-1 is endless, and 0 hands out nothing, as RayCollector has it",
    "collection.maxFramesPerTraj": "-1 and 0 are none, as TorchRL has it",
    "collection.initRandomFrames": "-1 and 0 are none, as TorchRL has it",
    "collectors.resources.gpu": "Ray's own rule for its actors",
    "weights.maxWeightUpdateInterval": "-1 is never, as RayCollector has it",
}
LEAST_ONLY_IN_PYTHON = {"threads_per_collector": "of any CPUs that a manifest names at least one is made"}
RULES_ONLY_IN_MANIFESTS = {
    **dict.fromkeys(
        (
            *("code-from-one-place", "archive-from-one-place", "code-path-needs-a-tree"),
            *("certificate-authority-from-one-place", "certificate-authority-needs-fetched-code"),
            *("git-commit-in-full", "git-password-over-https", "artifact-by-digest"),
        ),
        "in Python the code is there",
    ),
    "evaluation-plays-what-is-recorded": "in Python Evaluation itself refuses it, see test_options",
    "groups-add-up": "in Python the list of groups is how many there are",
    "custom-resources-need-ray": "in Python only-with-ray says it of remote_configs",
    "custom-resources-of-pods-need-ray": "about pods and the cluster",
    "heads-need-ray": "about pods and the cluster",
    "groups-need-ray": "in Python a group is a name and what lists say, whatever carries the frames",
    "groups-differ-by-the-script": "in Python the loop says environments and devices",
    "log-goes-somewhere": "in Python a loop logs by itself",
    **dict.fromkeys(
        (
            *("name-fits-the-cluster", "collectors-fit-into-pods", "driver-gpus-are-whole", "memory-fits-a-process"),
            *("mig-names-its-slice", "gpu-resource-where-pods-ask-for-one", "dra-names-its-claim"),
            *("gpu-resource-is-a-devices", "learner-pods-use-their-claim"),
            *("ray-knows-tokens", "secrets-named-once", "templates-can-be-merged", "spec-fits-an-annotation"),
            *("network-rules-are-known", "custom-resources-have-names", "evaluator-pods-need-ray"),
            *(
                "toleration-without-a-key-exists",
                "toleration-of-any-value-has-none",
                "toleration-seconds-of-no-execute",
            ),
        ),
        "about pods and the cluster",
    ),
    **dict.fromkeys(
        (
            *("train-or-output", "not-train-and-output", "output-format-with-its-buffer"),
            "replay-buffer-checkpoint-needs-driver-checkpoint",
        ),
        "about what a run does with batches, which Python's has",
    ),
    **dict.fromkeys(
        (
            *("exact-staleness-needs-train", "update-between-steps-needs-train"),
            *("interval-needs-train", "replay-buffer-needs-train"),
        ),
        "in Python nobody knows whether the one who iterates trains",
    ),
    **dict.fromkeys(
        ("cuda-needs-gpu", "cuda-index-within-gpus"), "in Python remote_configs and the user's Ray say what is there"
    ),
    **dict.fromkeys((one.name for one in SCRIPTS), "a script is Python itself"),
    "interval-or-each-batch": "RayCollector takes both, and publishes after each batch",
    "keywords-said-once": "in Python what is given for a collector wins over what is given for all",
    "transport-of-the-launcher": "in Python launcher is what starts the processes; launcher-of-a-gang is about that",
    "highest-indexes-leave": "in Python hosts-leave-by-rank says it of launcher",
    "models-named-once": "a dict has each key once",
    **dict.fromkeys(
        ("policies-have-places", "shards-have-policies", "learners-fit-into-shards"),
        "LearnerShards says it of its own arguments",
    ),
    **dict.fromkeys(
        (
            *("learners-need-a-policy", "learners-or-script", "learners-need-ray", "learners-or-replay-buffer"),
            *("learners-publish-themselves", "group-or-learners"),
        ),
        "in Python LearnerFeed and FleetCollector are two objects, and their user's to put together",
    ),
    "learners-or-batches": "in Python it is the rule of replay buffers, which a feed's is one of",
    "curriculum-is-the-scripts": "in Python there is no script",
    "reset-options-at-a-reset": "EnvironmentParameters says it of its own arguments",
    "evaluation-one-interval": "Evaluation says it of its own arguments",
    "evaluation-keeps-the-best": "in Python best_weights() returns them",
    "evaluation-group-name": "about pods and the cluster",
    "split-trajs-or-trajs-per-batch": "it splits what traj_format='cat' leaves in one row",
}
RULES_ONLY_IN_PYTHON = {
    "groups-have-names": "a name of a manifest is not empty",
    **dict.fromkeys(("list-not-empty", "list-has-one-for-each"), "collectors of a manifest are replicas"),
    **dict.fromkeys(
        (
            *("at-least", "some-time", "collector-class-is-known", "environment-error-is-known", "rollout-is-known"),
            "transport-is-known",
        ),
        "said by the types of the manifest's fields",
    ),
    **dict.fromkeys(
        ("environments-need-a-function", "environment-is-or-builds-one", "one-policy"), "a manifest names factories"
    ),
    **dict.fromkeys(
        (
            *("service-is-reachable", "service-answers-one-process", "service-has-the-weights"),
            *("replay-buffer-is-shared", "distributed-buffer-takes-equal-batches"),
        ),
        "known once the user's factory has built it, in the driver",
    ),
    "weights-have-one-way": "no fields of a manifest",
    "parameters-need-trajectories": "the run says it when it begins",
    "curriculum-needs-parameters": "a curriculum of a manifest implies them",
    **dict.fromkeys(
        ("simulator-is-described", "simulator-needs-a-function", "simulator-or-env-creator"),
        "said by the types of the manifest's fields",
    ),
    "evaluation-or-service": "known once the user's factory has built the policy, in the driver",
    "evaluation-reaches-models": "the run says it when it begins",
    "evaluation-of-one-policy": "a manifest's policy is built in the driver",
    "evaluation-of-one-environment": "without an environment of its own, spec.environment is the evaluators'",
    "hosts-leave-by-rank": "highest-indexes-leave says it of a manifest's",
    "launcher-of-a-gang": "transport-of-the-launcher says it of a manifest's",
    **dict.fromkeys(
        ("only-with-rpc", "tensorpipe-options-are-known", "visible-devices-are-known"), "no manifest has transport rpc"
    ),
    "keywords-are-not-the-fleets": "keywords_said_once refuses these and more",
    **dict.fromkeys(
        ("compact-observations-of-one-version", "update-between-steps-breaks-the-graph"),
        "manifests do not look into collectors.kwargs, but for what has a field",
    ),
    "collector-class-is-driven": "a manifest names classes that are",
    "policy-acts": "known once the user's factory has built it, in the driver",
    "policy-factory-is-called": "a manifest's policy is built in the driver",
}
# By the id of the case.
TAKEN_IN_PYTHON = {
    "no way with stragglers": "an empty part of a manifest is no argument",
    "a curriculum without an evaluation": "its function is the driver's own code, which is not imported here",
    "a replay buffer and batches as they should be": "no batch passes through the driver",
}


# ---------------------------------------------------------------- the walk
def leaves(model: type[Model], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every field below ``model`` that is not a part with fields of its own; a factory is one field."""
    for name, field in model.model_fields.items():
        path, inner = f"{prefix}{field.alias or name}", inner_model(field.annotation)
        if inner is None or get_origin(field.annotation) is list:
            yield path, field
        elif issubclass(inner, Factory):
            yield path, field
            own = inner.model_fields.keys() - Factory.model_fields.keys()
            yield from ((f"{path}.{leaf.alias}", leaf) for key, leaf in inner.model_fields.items() if key in own)
        else:
            yield from leaves(inner, f"{path}.")


LEAVES = {path: field for path, field in leaves(CollectorFleetSpec) if path.partition(".")[0] in PARTS}
DEFAULTS = {field.name: field.default for field in fields(FleetOptions)}


def test_the_walk_finds_fields_of_every_part() -> None:
    assert {path.partition(".")[0] for path in LEAVES} == set(PARTS)


def test_each_field_of_a_manifest_is_an_argument() -> None:
    assert LEAVES.keys() - ARGUMENTS.keys() == FIELDS_ONLY_IN_MANIFESTS.keys()
    assert ARGUMENTS.keys() - LEAVES.keys() == set()


def test_each_argument_is_a_field_of_a_manifest_and_of_one_only() -> None:
    named = [row.argument for row in ARGUMENTS.values()]
    assert len(named) == len(set(named))
    assert DEFAULTS.keys() - set(named) == OPTIONS_ONLY_IN_PYTHON.keys()
    assert set(named) - DEFAULTS.keys() == set()


def test_a_field_that_is_left_out_means_what_an_argument_that_is_left_out_does() -> None:
    said = collector_options(fleet({"spec.collectors": ABSENT, "spec.collection.mode": ABSENT}).spec, {WORKER_GROUP: 0})

    def same(path: str, argument: str) -> bool:
        default = DEFAULTS[argument]
        if LEAVES[path].is_required():
            return default is MISSING
        return bool(said[argument] == default) if argument in said else default in (None, -1)

    differing = {path for path, row in ARGUMENTS.items() if not same(path, row.argument)}
    assert differing == OTHER_DEFAULTS.keys()


def _least(path: str) -> int | None:
    node = reduce(lambda inner, part: inner["properties"][part], path.split("."), schema()["properties"]["spec"])
    least: int | None = node.get("minimum") if "type" in node else None  # a quantity has none
    return least


def _refusal(row: Plain | Derived | Built, value: Any) -> str:
    said = row.convert(value) if isinstance(row, Plain) else value
    try:
        FleetOptions(**{"create_env_fn": len, "frames_per_batch": 24, "sync": True, row.argument: said})
    except InvalidOption as refused:
        return str(refused)
    return ""


def test_a_number_has_the_same_least_value() -> None:
    least = {path: number for path in ARGUMENTS if (number := _least(path)) is not None}
    arguments = {path: ARGUMENTS[path].argument for path in least}
    bounded = {rule.option for rule in RULES if rule.name == "at-least"}
    assert bounded - set(arguments.values()) == LEAST_ONLY_IN_PYTHON.keys()
    too_small = {path: _refusal(ARGUMENTS[path], number - 1) for path, number in least.items()}
    taken = {path for path, refusal in too_small.items() if not refusal.startswith(f"{arguments[path]}: ")}
    assert taken == LEAST_ONLY_IN_MANIFESTS.keys()
    enough = {path: _refusal(ARGUMENTS[path], number) for path, number in least.items()}
    assert {path for path, refusal in enough.items() if "is fewer than" in refusal} == set()


def test_each_rule_is_one_of_both_sides() -> None:
    manifests = {*CHECKS, *(combination.name for combination in COMBINATIONS)} - {"combinations"}
    python = {rule.name for rule in RULES}
    assert manifests - python == RULES_ONLY_IN_MANIFESTS.keys()
    assert python - manifests == RULES_ONLY_IN_PYTHON.keys()


def test_what_the_fleet_gives_torchrls_collector_itself_no_manifest_may_give_either() -> None:
    assert FLEETS_OWN.keys() <= FIELDS.keys()


# ---------------------------------------------------------------- the same manifests, said in Python
def in_python(spec: CollectorFleetSpec) -> FleetOptions:
    """The options of ``spec``, with something for what the user's factories would build."""
    built = {row.argument: row for path, row in ARGUMENTS.items() if isinstance(row, Built) and spec.at(path)}
    stand_ins = {name: {} if name == "models" else SimpleNamespace(service_backend="ray") for name in built}
    gpus = {name: spec.of_group(name).collectors.resources.gpu for name in spec.group_names}
    policy = None if spec.policy is None else nn.Identity()
    return FleetOptions(**collector_options(spec, gpus) | stand_ins | {"policy": policy})


@pytest.mark.parametrize("changes", GO_TOGETHER)
def test_what_goes_together_in_a_manifest_goes_together_in_python(changes: dict[str, Any]) -> None:
    spec = fleet(changes).spec
    assert in_python(spec).frames_per_batch == spec.collection.frames_per_batch


def _refused_by_both(changes: dict[str, Any]) -> bool:
    spec = fleet(changes).spec
    broken = {combination.name for combination in COMBINATIONS if not combination.holds(spec)}
    return bool(broken - RULES_ONLY_IN_MANIFESTS.keys())


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(case.values[0], id=case.id)
        for case in REFUSED
        if _refused_by_both(case.values[0]) and case.id not in TAKEN_IN_PYTHON
    ],
)
def test_what_a_manifest_refuses_by_a_rule_of_both_sides_python_refuses_too(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        in_python(fleet(changes).spec)


@pytest.mark.parametrize(
    "changes", [pytest.param(case.values[0], id=case.id) for case in REFUSED if case.id in TAKEN_IN_PYTHON]
)
def test_what_python_takes_of_it_is_as_good_as_not_said(changes: dict[str, Any]) -> None:
    assert in_python(fleet(changes).spec).collectors == 4
