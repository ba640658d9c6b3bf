"""What goes with policies that learn in shards, and what says the same in another way."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.names import LEARNER_GROUP
from collectorfleet_api.rules.combinations.combination import Combination, Number
from collectorfleet_api.rules.combinations.questions import LEARNS, SCRIPT
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec


def _learns(spec: CollectorFleetSpec) -> bool:
    return spec.learners is not None


def _policies(spec: CollectorFleetSpec) -> int:
    return len(spec.learners.policies) if spec.learners else 0


def _places(spec: CollectorFleetSpec) -> int:
    return spec.learners.places if spec.learners else 0


_PLACES: Final = "(has(self.maxPolicies) ? self.maxPolicies : self.policies.size())"

LEARNERS: Final = (
    Combination(
        "learners-need-a-policy",
        "learners",
        lambda spec: not _learns(spec) or spec.driver.script is not None or spec.policy is not None,
        f"!{LEARNS} || {SCRIPT} || has(self.policy)",
        "what learns is part of the policy that collectors act with; name its factory in spec.policy",
    ),
    Combination(
        "learners-or-script",
        "learners",
        lambda spec: not _learns(spec) or spec.driver.script is None,
        f"!{LEARNS} || !{SCRIPT}",
        "driver.script makes the collector, and its LearnerShards; set driver.train, or leave learners out",
    ),
    Combination(
        "learners-need-ray",
        "learners",
        lambda spec: not _learns(spec) or spec.has_ray,
        f"!{LEARNS} || self.launcher == 'RayCluster'",
        "learners are Ray actors, which collectors write to, and with launcher Job those are not in Ray; use launcher "
        "RayCluster",
    ),
    Combination(
        "learners-or-replay-buffer",
        "learners",
        lambda spec: not _learns(spec) or spec.replay_buffer is None,
        f"!{LEARNS} || !has(self.replayBuffer)",
        "collectors write to the replay actors of learners; leave replayBuffer out, learners.replay is in its place",
    ),
    Combination(
        "learners-or-batches",
        "learners",
        lambda spec: (
            not _learns(spec)
            or not (
                spec.collection.postproc
                or spec.collection.split_trajs
                or not spec.collection.copied
                or spec.collection.compact_observations
            )
        ),
        f"!{LEARNS} || (!has(self.collection.postproc) && !self.collection.splitTrajs && self.collection.copy"
        " && !self.collection.compactObservations)",
        "collectors write to replay actors themselves, and no batch is handed out; leave collection.postproc, "
        "splitTrajs, copy and compactObservations out",
    ),
    Combination(
        "learners-publish-themselves",
        "weights.maxWeightUpdateInterval",
        lambda spec: not _learns(spec) or spec.weights.max_weight_update_interval is None,
        f"!{LEARNS} || !has(self.weights.maxWeightUpdateInterval)",
        "what learners learned is published where it changed; leave it out",
    ),
    Combination(
        "group-or-learners",
        "collectors.groups",
        lambda spec: not _learns(spec) or all(group.name != LEARNER_GROUP for group in spec.collectors.groups),
        f"!{LEARNS} || !has(self.collectors.groups) || !self.collectors.groups.exists(g, g.name == '{LEARNER_GROUP}')",
        f"{LEARNER_GROUP} is the name of the pods of spec.learners; use another",
    ),
    Combination(
        "policies-have-places",
        "learners.policies",
        lambda spec: _policies(spec) <= _places(spec),
        "!has(self.maxPolicies) || self.policies.size() <= self.maxPolicies",
        "more policies than learners.maxPolicies has places; raise it, or leave policies out",
        "%d policies, and learners.maxPolicies is %d; raise it to %d, or leave policies out",
        (
            Number("self.policies.size()", _policies),
            Number("self.maxPolicies", _places),
            Number("self.policies.size()", _policies),
        ),
        on="learners",
    ),
    Combination(
        "shards-have-policies",
        "learners.shards",
        lambda spec: not spec.learners or spec.learners.shards is None or spec.learners.shards <= _places(spec),
        f"!has(self.shards) || self.shards <= {_PLACES}",
        "more shards than places for policies; use fewer, or raise learners.maxPolicies",
        "%d shards for %d policies; use 1 to %d, or raise learners.maxPolicies",
        (
            Number("self.shards", lambda spec: (spec.learners and spec.learners.shards) or 0),
            Number(_PLACES, _places),
            Number(_PLACES, _places),
        ),
        on="learners",
    ),
)
