"""Changes of a manifest that set several options, those that are refused with the sentence that says why.

Each is asked of the rules in Python and of the CRD on a real API server.
"""

from __future__ import annotations

from tests.combinations import (
    batches,
    code,
    evaluation,
    groups,
    launchers,
    learners,
    parameters,
    resources,
    scheduling,
    scripts,
    simulators,
    sinks,
)
from tests.combinations.together import GO_TOGETHER

__all__ = ["GO_TOGETHER", "REFUSED"]

REFUSED = [
    *learners.REFUSED,
    *evaluation.REFUSED,
    *parameters.REFUSED,
    *scripts.REFUSED,
    *groups.REFUSED,
    *launchers.REFUSED,
    *code.REFUSED,
    *sinks.REFUSED,
    *batches.REFUSED,
    *resources.REFUSED,
    *simulators.REFUSED,
    *scheduling.REFUSED,
]
