"""Make a FleetCollector whose collectors are threads of this process. Only its transport differs from a real fleet.

The fleet starts in milliseconds. It uses the transport of the contract tests, which can lose collectors on demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch

from collectorfleet import FleetCollector
from collectorfleet.actor.config import CollectorConfig
from collectorfleet.fleet import engine
from collectorfleet.fleet.collector_configs import CollectorConfigs
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.weights import WeightsSource
from collectorfleet.gather.shared import Shared
from collectorfleet.messages import CollectorId
from tests.contract.in_process import InProcess


@contextmanager
def fleet(*arguments: Any, **options: Any) -> Iterator[FleetCollector]:
    """Yield a fleet, and shut it down at the end of the block."""
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_transport", _in_process)
        made = FleetCollector(*arguments, transport="torch_distributed", **options)
    try:
        yield made
    finally:
        made.shutdown()
        torch.set_num_threads(threads)


def kill(collector: FleetCollector, name: str) -> None:
    """Kill the collector that currently fills the slot ``name``."""
    transport = collector._transport
    assert isinstance(transport, InProcess)
    transport.kill(living(collector)[name])


def living(collector: FleetCollector) -> dict[str, CollectorId]:
    """Return the collector that currently fills each slot, also if its environment is not built yet."""
    with collector._consumer.shared.changed:
        return {one.id.name: one.id for one in collector._consumer.shared.gather.collectors}


def _in_process(options: FleetOptions, source: WeightsSource, shared: Shared) -> InProcess:
    recipes, policy = CollectorConfigs(options), source.for_collectors()

    def config_of(name: str) -> CollectorConfig:
        config = recipes.config(int(name[1:]), shared.gather.plan.frames_per_share)
        return replace(config, policy=policy)

    return InProcess(config_of)
