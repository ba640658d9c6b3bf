"""The operator as a process that is looked at from outside: memory, CPU, requests, and the steps of its event loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
from prometheus_client.parser import text_string_to_metric_families
from tests.cluster.binaries import ROOT
from tests.cluster.process import Command, Component, answers
from tests.ports import reserve_ports

_READY_SECONDS: Final = 120.0
_WRITES: Final = ("create", "update", "patch", "delete")
_REQUESTS: Final = "collectorfleet_operator_api_requests_total"
# Of one core, over a second: less is nothing but the watches.
_BUSY: Final = 0.15
_LOOK_SECONDS: Final = 0.5


@dataclass(frozen=True)
class Requests:
    """How many the operator sent since it began."""

    all: float
    writes: float
    conflicts: float

    def since(self, before: Requests) -> Requests:
        return Requests(self.all - before.all, self.writes - before.writes, self.conflicts - before.conflicts)


@dataclass(frozen=True)
class Steps:
    """Of the event loop: the longest, and the most that one computed, in seconds."""

    longest: float
    most_cpu: float


class Operator:
    """One process at a time, under one name."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        (port,) = reserve_ports(1)
        self._steps = folder / "steps.json"
        self._metrics = f"http://127.0.0.1:{port}/metrics"
        self.component = Component(
            Command(
                "operator",
                (sys.executable, "-m", "benchmarks.fleets.served", self._steps, f"--health-port={port}"),
                ready_url=f"http://127.0.0.1:{port}/readyz",
                env={"KUBECONFIG": str(kubeconfig), "PYTHONPATH": f"{ROOT}:{ROOT}/crds:{ROOT}/operator"},
            ),
            folder / "operator.log",
        )
        self._process: psutil.Process | None = None

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.component.kill()

    def launch(self) -> float:
        """Start it; returns the time of that."""
        began = time.monotonic()
        self.component.launch()
        assert self.component._process is not None
        self._process = psutil.Process(self.component._process.pid)
        return began

    async def ready(self) -> float:
        """Wait until it serves fleets; returns the time of that."""
        deadline = time.monotonic() + _READY_SECONDS
        while not await asyncio.to_thread(answers, self.component.ready_url):
            assert time.monotonic() < deadline, f"not ready; see {self.component.log}"
            assert self.component.running, f"ended; see {self.component.log}"
            await asyncio.sleep(0.02)
        return time.monotonic()

    @property
    def process(self) -> psutil.Process:
        assert self._process is not None
        return self._process

    def memory_mb(self) -> float:
        return float(self.process.memory_info().rss / 1e6)

    def peak_mb(self) -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM"))

    def cpu_seconds(self) -> float:
        spent = self.process.cpu_times()
        return float(spent.user + spent.system)

    async def requests(self) -> Requests:
        return await asyncio.to_thread(self._requests)

    def _requests(self) -> Requests:
        with urllib.request.urlopen(self._metrics, timeout=10) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        counted = [one for family in families for one in family.samples if one.name == _REQUESTS]
        writes = [one for one in counted if one.labels["verb"] in _WRITES]
        conflicts = [one for one in writes if one.labels["code"] == "409"]
        return Requests(*(sum(one.value for one in some) for some in (counted, writes, conflicts)))

    async def longest_steps(self) -> Steps:
        """Since this was last asked, or since it began."""
        self._steps.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        for _ in range(100):
            await asyncio.sleep(0.05)
            if self._steps.exists():
                found = json.loads(self._steps.read_text())
                return Steps(found["longest"][0][0] if found["longest"] else 0.0, found["most_cpu"])
        raise AssertionError("the operator does not say how long its steps took")

    async def quiet_since(self, began: float, watched_seconds: float = 25.0, settled_seconds: float = 4.0) -> float:
        """Seconds from ``began`` to where nothing but periodic lists goes on: no busy second in the next four."""
        samples: list[tuple[float, float]] = []
        while time.monotonic() < began + watched_seconds:
            samples.append((time.monotonic(), self.cpu_seconds()))
            await asyncio.sleep(_LOOK_SECONDS)
        busy = [
            later
            for (then, spent), (later, more) in zip(samples, samples[2:], strict=False)
            if (more - spent) / (later - then) > _BUSY
        ]
        first = quiet = samples[0][0]
        for moment in busy:
            if moment - quiet > settled_seconds and quiet > first:
                break
            quiet = moment
        return quiet - began
