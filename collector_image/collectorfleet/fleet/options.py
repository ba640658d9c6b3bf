"""The options of a fleet: its arguments, checked together."""

from __future__ import annotations

from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.rules.table import check


class FleetOptions(FleetArguments):
    """The arguments of a FleetCollector, checked together.

    ``docs/fleet-collector.md`` describes each argument by topic, on the site at
    https://collectorfleet.github.io/collectorfleet/fleet-collector/.

    Raises:
        InvalidOption: an option that cannot work, alone or with the others; :mod:`collectorfleet.fleet.rules` has them.
        TypeError: a replay buffer that collectors cannot write to, as TorchRL has it.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self)
