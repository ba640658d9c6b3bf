"""The options of a fleet: the arguments, checked against all rules."""

from __future__ import annotations

from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.rules.table import check


class FleetOptions(FleetArguments):
    """The arguments of a FleetCollector. The constructor checks all rules.

    ``docs/fleet-collector.md`` describes the arguments by topic. The page is also at
    https://collectorfleet.github.io/collectorfleet/fleet-collector/.

    Raises:
        InvalidOption: an option has an invalid value, or two options exclude each other, see
            :mod:`collectorfleet.fleet.rules`.
        TypeError: collectors cannot write to the replay buffer. TorchRL raises the same error.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self)
