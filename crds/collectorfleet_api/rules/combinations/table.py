"""All combinations, in the order in which their problems are reported."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.rules.combinations.batches import ASYNC_ONLY, STRAGGLING, SYNC_ONLY
from collectorfleet_api.rules.combinations.code import CODE
from collectorfleet_api.rules.combinations.evaluation import EVALUATION
from collectorfleet_api.rules.combinations.launchers import LAUNCHERS
from collectorfleet_api.rules.combinations.learners import LEARNERS
from collectorfleet_api.rules.combinations.parameters import PARAMETERS
from collectorfleet_api.rules.combinations.resources import DRIVER, INSIDE_COLLECTORS, PODS
from collectorfleet_api.rules.combinations.scheduling import SCHEDULING
from collectorfleet_api.rules.combinations.scripts import SCRIPTS
from collectorfleet_api.rules.combinations.simulators import SIMULATORS
from collectorfleet_api.rules.combinations.sinks import SINKS, TRAIN_OR_OUTPUT
from collectorfleet_api.rules.combinations.versions import VERSIONS

COMBINATIONS: Final = (
    *CODE,
    *TRAIN_OR_OUTPUT,
    *SCRIPTS,
    *ASYNC_ONLY,
    *SYNC_ONLY,
    *STRAGGLING,
    *VERSIONS,
    *INSIDE_COLLECTORS,
    *SIMULATORS,
    *PODS,
    *SINKS,
    *DRIVER,
    *LAUNCHERS,
    *LEARNERS,
    *EVALUATION,
    *PARAMETERS,
    *SCHEDULING,
)
