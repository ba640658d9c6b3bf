"""Options of a fleet that cannot work: the rule and its option, what is said, and the sentence that refuses it."""

from __future__ import annotations

from tests.refused_options import batches, collectors, evaluation, parameters, shares, simulators, transports, values
from tests.refused_options.batches import TORCHRLS

__all__ = ["REFUSED", "TORCHRLS"]

REFUSED = [
    *values.REFUSED,
    *collectors.REFUSED,
    *batches.REFUSED,
    *shares.REFUSED,
    *transports.REFUSED,
    *evaluation.REFUSED,
    *parameters.REFUSED,
    *simulators.REFUSED,
]
