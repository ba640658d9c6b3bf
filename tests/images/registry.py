"""An OCI registry on this machine, for images and charts, which nobody reaches but the nodes of a test cluster."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.cluster import binaries
from tests.cluster.process import Command, Component
from tests.ports import reserve_ports

_START_SECONDS = 10


@contextlib.contextmanager
def served(address: str, log: Path) -> Iterator[str]:
    """The ``host:port`` of a registry that listens on an address of this machine; what it has goes with it."""
    (port,) = reserve_ports(1)
    host = f"{address}:{port}"
    crane = binaries.build(binaries.CRANE) / "crane"
    with tempfile.TemporaryDirectory(prefix="collectorfleet-registry-") as blobs:
        words = (crane, "registry", "serve", f"--address={host}", f"--disk={blobs}")
        registry = Component(Command("registry", words, f"http://{host}/v2/"), log)
        registry.launch()
        try:
            registry.wait_ready(_START_SECONDS)
            yield host
        finally:
            registry.stop()
