"""What these tests measured, as a page."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.common import tables
from tests.cluster.client import Object

LOST_NODES = """# What a lost node costs

A fleet with one collector runs on two nodes, and writes a checkpoint every second. The lost node runs one pod of the
fleet. Kubernetes marks a silent node as lost after 40 to 50 s, and evicts the fleet's pods 30 s later. Each row is one
run.

* **Evicted**: the time from the loss until Kubernetes marks the pod for deletion.
* **Collects**: the time from the eviction until the fleet has delivered a batch with the newest pod.
* **Back**: the time from when the returned node is Ready until the fleet has delivered three more batches.
* **Restarts**: of the driver. **Frames lost**: delivered after the newest checkpoint.

    make test-faults PYTEST="--write docs/lost-nodes.md"
"""

CLUSTER = """# What a fault of the cluster costs

Each row is one run of a small fleet on two nodes, with a temporary fault.

* **Frames lost** are frames that a lost driver handed out after the newest checkpoint (`framesLost`), plus frames that
  were collected and discarded (`framesDiscarded`).
* **Restarts** are the restarts that count against `backoffLimit`, or against the limit of a collector.

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
