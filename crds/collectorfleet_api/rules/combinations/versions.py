"""Rules for options about the weights versions of batches, and about publishing weights."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.rules.combinations.combination import Combination
from collectorfleet_api.rules.combinations.questions import TRAINS, trains
from collectorfleet_api.v1alpha1.collectors import CollectorClass

VERSIONS: Final = (
    Combination(
        "exact-staleness-or-update-between-steps",
        "collection.exactStaleness",
        lambda spec: not (spec.collection.exact_staleness and spec.weights.update_between_steps),
        "!(self.collection.exactStaleness && self.weights.updateBetweenSteps)",
        "with weights.updateBetweenSteps, a batch has frames of newer weights; leave exactStaleness or "
        "updateBetweenSteps out",
    ),
    Combination(
        "exact-staleness-needs-train",
        "collection.exactStaleness",
        lambda spec: not spec.collection.exact_staleness or trains(spec),
        f"!self.collection.exactStaleness || {TRAINS}",
        "without driver.train, all batches have the same version of the weights; leave exactStaleness out",
    ),
    Combination(
        "exact-staleness-or-mixed-versions",
        "collection.exactStaleness",
        lambda spec: (
            not spec.collection.exact_staleness
            or (spec.collection.trajs_per_batch is None and spec.collectors.collector_class is not CollectorClass.ASYNC)
        ),
        "!self.collection.exactStaleness || (!has(self.collection.trajsPerBatch) && self.collectors.class != 'Async')",
        "with trajsPerBatch or collectors.class Async, a batch has frames of older weights; do not combine "
        "exactStaleness with either",
    ),
    Combination(
        "update-between-steps-needs-class-single",
        "weights.updateBetweenSteps",
        lambda spec: not spec.weights.update_between_steps or spec.collectors.collector_class is CollectorClass.SINGLE,
        "!self.weights.updateBetweenSteps || self.collectors.class == 'Single'",
        "only a collector of one process loads weights between its steps; set collectors.class to Single, or leave "
        "updateBetweenSteps out",
    ),
    Combination(
        "update-between-steps-needs-train",
        "weights.updateBetweenSteps",
        lambda spec: not spec.weights.update_between_steps or trains(spec),
        f"!self.weights.updateBetweenSteps || {TRAINS}",
        "without driver.train, there are no new weights to load; leave this field out",
    ),
    Combination(
        "interval-needs-train",
        "weights.maxWeightUpdateInterval",
        lambda spec: spec.weights.max_weight_update_interval is None or trains(spec),
        f"!has(self.weights.maxWeightUpdateInterval) || {TRAINS}",
        "without driver.train, there are no new weights to publish; leave this field out",
    ),
    Combination(
        "interval-or-each-batch",
        "weights.maxWeightUpdateInterval",
        lambda spec: spec.weights.max_weight_update_interval is None or not spec.weights.update_after_each_batch,
        "!has(self.weights.maxWeightUpdateInterval) || !self.weights.updateAfterEachBatch",
        "weights.updateAfterEachBatch already publishes after each batch; set updateAfterEachBatch to false, or leave "
        "maxWeightUpdateInterval out",
    ),
)
