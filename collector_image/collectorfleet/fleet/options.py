"""The options of a fleet: its arguments, checked together."""

from __future__ import annotations

from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.rules.table import check


class FleetOptions(FleetArguments):
    """The arguments of a FleetCollector, checked together.

    ``docs/fleet-collector.md`` describes each argument by topic. The page is also at
    https://collectorfleet.github.io/collectorfleet/fleet-collector/.

    Raises:
        InvalidOption: an option cannot work alone or with the others, see :mod:`collectorfleet.fleet.rules`.
        TypeError: collectors cannot write to the replay buffer. TorchRL raises the same error.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self)
