"""A plugin of pytest: whoever imports one of TorchRL's distributed collectors gets ours.

``TORCHRL_SIDE=theirs`` leaves it as it is, to see what those tests say of TorchRL's own.
"""

from __future__ import annotations

import os

import torchrl.collectors
import torchrl.collectors.distributed
import torchrl.collectors.distributed.ray

from collectorfleet import DistributedCollector, DistributedSyncCollector, FleetCollector, RPCCollector

# Some of the tests reserve more CPUs than a small machine has; Ray counts them and binds nobody to one.
torchrl.collectors.distributed.ray.DEFAULT_RAY_INIT_CONFIG["num_cpus"] = 16

if os.environ.get("TORCHRL_SIDE") != "theirs":
    for module in (torchrl.collectors.distributed.ray, torchrl.collectors.distributed, torchrl.collectors):
        module.RayCollector = FleetCollector
    for ours in (DistributedCollector, DistributedSyncCollector, RPCCollector):
        setattr(torchrl.collectors.distributed, ours.__name__, ours)
