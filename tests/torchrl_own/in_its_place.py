"""A plugin of pytest: whoever imports one of TorchRL's distributed collectors gets ours.

``TORCHRL_SIDE=theirs`` leaves it as it is, to see what those tests say of TorchRL's own.
"""

from __future__ import annotations

import functools
import os
from typing import Final

import torchrl.collectors
import torchrl.collectors.distributed
import torchrl.collectors.distributed.ray

from collectorfleet import DistributedCollector, DistributedSyncCollector, FleetCollector, RPCCollector

# Some of the tests reserve more CPUs than a small machine has; Ray counts them and binds nobody to one.
torchrl.collectors.distributed.ray.DEFAULT_RAY_INIT_CONFIG["num_cpus"] = 16

OURS: Final = {
    "RayCollector": FleetCollector,
    **{ours.__name__: ours for ours in (DistributedCollector, DistributedSyncCollector, RPCCollector)},
}
MODULES: Final = (torchrl.collectors.distributed.ray, torchrl.collectors.distributed, torchrl.collectors)


def put_ours_in_place() -> None:
    """TorchRL's own are of no use after it: whoever still makes one did not get ours."""
    for name, ours in OURS.items():
        _refuse(getattr(torchrl.collectors.distributed, name))
        for module in MODULES:
            if hasattr(module, name):
                setattr(module, name, ours)


def _refuse(theirs: type) -> None:
    # With its signature, which some of the tests look at.
    @functools.wraps(theirs.__init__)
    def refused(*_: object, **__: object) -> None:
        raise AssertionError(f"TorchRL's own {theirs.__name__} is made, and not ours in its place")

    theirs.__init__ = refused


if os.environ.get("TORCHRL_SIDE") != "theirs":
    put_ours_in_place()
