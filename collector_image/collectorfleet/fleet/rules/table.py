"""All rules about the options of a fleet, in the order in which they are checked."""

from __future__ import annotations

from typing import Final

from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.rules.batches import BATCHES
from collectorfleet.fleet.rules.collectors import COLLECTORS
from collectorfleet.fleet.rules.evaluation import EVALUATION
from collectorfleet.fleet.rules.parameters import PARAMETERS
from collectorfleet.fleet.rules.shares import SHARES
from collectorfleet.fleet.rules.simulators import SIMULATORS
from collectorfleet.fleet.rules.transports import TRANSPORTS
from collectorfleet.fleet.rules.value_types import TYPES
from collectorfleet.fleet.rules.values import VALUES

# Rules about types come first, because rules about values can only compare values of the right type.
RULES: Final = (*TYPES, *VALUES, *TRANSPORTS, *COLLECTORS, *SHARES, *BATCHES, *EVALUATION, *PARAMETERS, *SIMULATORS)


def check(options: FleetArguments) -> None:
    """Raise the error of the first broken rule: InvalidOption, or TypeError if TorchRL raises TypeError as well."""
    for rule in RULES:
        if not rule.holds(options):
            raise rule.error_for(options)
