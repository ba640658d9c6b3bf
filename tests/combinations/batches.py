"""Of how batches are collected."""

from __future__ import annotations

import pytest

from tests.combinations.parts import ASYNC
from tests.manifests import ABSENT

REFUSED = [
    pytest.param(
        {**ASYNC, "spec.collection.maxStaleness": 0},
        "spec.collection.maxStaleness: 0 is possible only in mode Sync: in mode Async, new versions are published "
        "while batches wait; use at least 1, or leave maxStaleness out",
        id="on-policy Async",
    ),
    pytest.param(
        {**ASYNC, "spec.collection.shares": 4},
        "spec.collection.shares: in mode Async, a batch comes from one collector and has no shares; leave "
        "collection.shares out, or set collection.mode to Sync",
        id="shares in Async",
    ),
    pytest.param(
        {**ASYNC, "spec.collection.exactStaleness": True},
        "spec.collection.exactStaleness: in mode Async, the version of a batch is not fixed when the batch is "
        "requested; leave exactStaleness out and set maxStaleness",
        id="exact staleness in Async",
    ),
    pytest.param(
        {**ASYNC, "spec.collection.stragglers": {"preemptiveThreshold": 0.8}},
        "spec.collection.stragglers: in mode Async, a batch waits for only one collector; leave collection.stragglers "
        "out",
        id="stragglers in Async",
    ),
    pytest.param(
        {
            "spec.collection.maxStaleness": 1,
            "spec.collection.stragglers": {"firstShares": 3, "preemptiveThreshold": 0.8},
            "spec.collection.framesPerBatch": 6000,
        },
        "spec.collection.stragglers: set one of the two: with firstShares, late shares join the next batch; with "
        "preemptiveThreshold, late shares are cut short",
        id="two ways with stragglers",
    ),
    pytest.param(
        {"spec.collection.stragglers": {}},
        "spec.collection.stragglers: set one of the two: with firstShares, late shares join the next batch; with "
        "preemptiveThreshold, late shares are cut short",
        id="no way with stragglers",
    ),
    pytest.param(
        {"spec.collection.stragglers": {"firstShares": 2}},
        "spec.collection.stragglers.firstShares: late shares join the next batch, where their weights are older; set "
        "collection.maxStaleness to at least 1, or use preemptiveThreshold",
        id="late shares on-policy",
    ),
    pytest.param(
        {
            "spec.collection.maxStaleness": 1,
            "spec.collection.framesPerBatch": 6000,
            "spec.collection.shares": 3,
            "spec.collection.stragglers": {"firstShares": 3},
        },
        "spec.collection.stragglers.firstShares: firstShares already sets the number of shares of a batch; leave "
        "collection.shares out",
        id="two numbers of shares",
    ),
    pytest.param(
        {"spec.collection.maxStaleness": 1, "spec.collection.stragglers": {"firstShares": 4}},
        "spec.collection.stragglers.firstShares: 4 is not less than collectors.replicas (4), so each batch waits for "
        "all shares; use a smaller number, or leave stragglers out",
        id="all shares first",
    ),
    pytest.param(
        {"spec.collection.stragglers": {"preemptiveThreshold": 0.8}, "spec.collectors.class": "Sync"},
        "spec.collection.stragglers.preemptiveThreshold: only a collector of one process can be cut short; set "
        "collectors.class to Single, or use firstShares",
        id="cut short in several processes",
    ),
    pytest.param(
        {"spec.collection.stragglers": {"preemptiveThreshold": 0.8}, "spec.collection.splitTrajs": True},
        "spec.collection.stragglers.preemptiveThreshold: a share that is cut short has no whole trajectories; leave "
        "splitTrajs and trajsPerBatch out, or use firstShares",
        id="trajectories that are cut short",
    ),
    pytest.param(
        {"spec.collection.exactStaleness": True, "spec.collectors.class": "Async"},
        "spec.collection.exactStaleness: with trajsPerBatch or collectors.class Async, a batch has frames of older "
        "weights; do not combine exactStaleness with either",
        id="exact staleness of trajectories that span batches",
    ),
    pytest.param(
        {"spec.weights.updateBetweenSteps": True, "spec.collectors.class": "Sync"},
        "spec.weights.updateBetweenSteps: only a collector of one process loads weights between its steps; set "
        "collectors.class to Single, or leave updateBetweenSteps out",
        id="new weights between the steps of several processes",
    ),
    pytest.param(
        {"spec.collection.rollout": "Fast", "spec.collectors.class": "Sync"},
        "spec.collection.rollout: a collector with several processes has no fast loop; set collectors.class to Single, "
        "or collection.rollout to Auto",
        id="a fast rollout in several processes",
    ),
    pytest.param(
        {
            "spec.collectors.onEnvironmentError": "Restart",
            "spec.collectors.failurePolicy": {"factory": "my_policies:patient"},
        },
        "spec.collectors.onEnvironmentError: failurePolicy also decides about exceptions in environments; leave "
        "onEnvironmentError or failurePolicy out",
        id="two judges of an environment's errors",
    ),
    pytest.param(
        {"spec.collection.initRandomFrames": 800, "spec.collectors.class": "Async"},
        "spec.collection.initRandomFrames: processes of class Async collect ahead and do not know when random actions "
        "end; use another collectors.class, or leave initRandomFrames out",
        id="random frames of processes that never pause",
    ),
    pytest.param(
        {"spec.collection.splitTrajs": True, "spec.collection.trajsPerBatch": 10},
        "spec.collection.splitTrajs: with trajsPerBatch, each row of a batch is one trajectory already; leave "
        "splitTrajs or trajsPerBatch out",
        id="trajectories that are split twice",
    ),
    pytest.param(
        {"spec.collection.stragglers": {"preemptiveThreshold": 0}},
        "spec.collection.stragglers.preemptiveThreshold: must be above 0 (waits for no share) and below 1 (waits for "
        "all shares); use a number such as 0.8, or leave stragglers out",
        id="a threshold of none",
    ),
    pytest.param(
        {"spec.collection.stragglers": {"preemptiveThreshold": 1.0}},
        "spec.collection.stragglers.preemptiveThreshold: must be above 0 (waits for no share) and below 1 (waits for "
        "all shares); use a number such as 0.8, or leave stragglers out",
        id="a threshold of all",
    ),
    pytest.param(
        {
            "spec.collection.maxStaleness": 1,
            "spec.collection.exactStaleness": True,
            "spec.collection.stragglers": {"firstShares": 2},
        },
        "spec.collection.exactStaleness: with stragglers.firstShares, a batch has late shares of older weights; leave "
        "exactStaleness out, or use preemptiveThreshold instead",
        id="exact staleness with late shares",
    ),
    pytest.param(
        {"spec.collection.exactStaleness": True, "spec.weights.updateBetweenSteps": True},
        "spec.collection.exactStaleness: with weights.updateBetweenSteps, a batch has frames of newer weights; leave "
        "exactStaleness or updateBetweenSteps out",
        id="exact staleness with new weights between steps",
    ),
    pytest.param(
        {"spec.weights.maxWeightUpdateInterval": 3},
        "spec.weights.maxWeightUpdateInterval: weights.updateAfterEachBatch already publishes after each batch; set "
        "updateAfterEachBatch to false, or leave maxWeightUpdateInterval out",
        id="an interval and each batch",
    ),
    pytest.param(
        {"spec.collectors.numWorkersPerCollector": 4},
        "spec.collectors.numWorkersPerCollector: 4, but class Single has only one process; set collectors.class to "
        "Sync or Async, or use environment.perCollector instead",
        id="workers of a single process",
    ),
    pytest.param(
        {"spec.driver.log": {"everySeconds": 5}},
        "spec.driver.log: nothing to log to; set tensorboard, logger, or both",
        id="a log to nowhere",
    ),
    *(
        pytest.param(
            {f"spec.{path}": ABSENT},
            f"spec.{path}: missing, and required: {what}; only a fleet with driver.script omits this field",
            id=f"no {path}",
        )
        for path, what in (
            ("environment", "the environment that the collectors step"),
            ("collection.framesPerBatch", "the frames of a batch"),
        )
    ),
]
