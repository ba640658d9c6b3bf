"""What only a manifest or only Python has of the options of a fleet, and why."""

from __future__ import annotations

from collectorfleet_api.rules.combinations.scripts import SCRIPTS

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
    "weights.maxWeightUpdateInterval": "-1 is never, as RayCollector has it",
}
LEAST_ONLY_IN_PYTHON = {
    "threads_per_collector": "of any CPUs that a manifest names at least one is made",
    "min_available": "in a manifest it may be a percentage, whose type has the range",
}
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
            *("evaluators-on-gpus-need-ray", "evaluators-fit-into-pods", "evaluators-have-shares"),
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
            *("collector-class-is-known", "environment-error-is-known", "rollout-is-known"),
            *("transport-is-known", "has-its-type"),
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
        ("simulator-needs-a-function", "simulator-or-env-creator"),
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
    "keyword-is-a-device": "keywords-said-once refuses devices in collectors.kwargs",
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
