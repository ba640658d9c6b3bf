"""What these tests measured, as a page."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.common import tables
from tests.cluster.client import Object

LOST_NODES = """# What a lost node costs

A fleet of one collector on two nodes, with a checkpoint every second, and Kubernetes' own delays: a silent node is
called lost after 40 to 50 s, and the fleet's pods leave it 30 s later. One pod of the fleet is on the node that is
lost, the others are on the other one. Each with both values of `spec.launcher`. One run of each; what one collector
costs is in [faults.md](faults.md).

* **Evicted**: from the loss until Kubernetes marks the pod for deletion.
* **Collects**: from the eviction until the lost pod is gone, another one runs, and a batch has been delivered since the
  newest pod was made: with a head, worker pods and driver are made again, too.
  A driver whose kubelet alone stops never stops collecting, until its pod's token is void.
* **Back**: from the node's return, once it is Ready, until three more batches were delivered.
* **Restarts** are of the driver; **lost** are frames delivered after the newest checkpoint.

    make test-faults PYTEST="--write docs/lost-nodes.md"
"""

CLUSTER = """# What a fault of the cluster costs

A small fleet that trains on a cluster of two nodes, while a part of the control plane, of its capacity or of its nodes
goes away and comes back. One run of each. What a node costs that is lost for good is in [lost-nodes.md](lost-nodes.md),
what a collector or driver costs in [faults.md](faults.md), and what a fleet does about each in
[failure-modes.md](failure-modes.md).

* **Frames lost**: handed out after the newest checkpoint by a driver that then died, or collected and thrown away.
* **Restarts** are those that budgets count: `backoffLimit` for the driver, the collectors' own for collectors.

    make test-faults PYTEST="--write-cluster docs/cluster-faults.md"
"""


@dataclass
class Table:
    """One row for each test that got so far."""

    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(
        self,
        what: tuple[str, str],
        loss: str,
        evicted: float | None,
        collects: float | None,
        back: float,
        after: Object,
    ) -> None:
        """``what``: the launcher, and the role of the pod that was lost."""
        status = after["status"]
        seconds = ["-" if one is None else f"{one:.0f}" for one in (evicted, collects, back)]
        lost = str(status["progress"].get("framesLost", 0))
        self.rows.append((*what, loss, *seconds, str(status["driver"]["restarts"]), lost))

    def page(self) -> str:
        header = (
            "launcher",
            "on the node",
            "the node",
            "evicted (s)",
            "collects (s)",
            "back (s)",
            "restarts",
            "frames lost",
        )
        return f"{LOST_NODES}\n{tables.table(header, self.rows)}\n\n{tables.machine()}"


@dataclass
class Costs:
    """What faults of the control plane and of capacity cost; one row for each test that got so far."""

    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, fault: str, said: str, ready: str, after: Object) -> None:
        """``said``: what the status said meanwhile; ``ready``: until when it was whole again."""
        status = after["status"]
        progress, driver = status["progress"], status["driver"]
        lost = progress.get("framesLost", 0) + progress.get("framesDiscarded", 0)
        budget = f"{driver['restarts']} / {progress['collectors']['restarts']}"
        self.rows.append((fault, said, ready, str(lost), budget))

    def page(self) -> str:
        header = ("fault", "what the status says", "how long", "frames lost", "restarts of driver / collectors")
        return f"{CLUSTER}\n{tables.table(header, self.rows)}\n\n{tables.machine()}"
