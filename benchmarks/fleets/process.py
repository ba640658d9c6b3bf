"""Runs the operator as a process and measures its memory, CPU, requests, and the steps of its event loop."""

from __future__ import annotations

import asyncio
import contextlib
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
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Command, Component, answers
from tests.ports import reserve_ports

_READY_SECONDS: Final = 120.0
_WRITES: Final = ("create", "update", "patch", "delete")
_REQUESTS: Final = "collectorfleet_operator_api_requests_total"
# The share of a core, over a second, above which the operator is busy. Watches alone use less.
_BUSY: Final = 0.15
_LOOK_SECONDS: Final = 0.5


@dataclass(frozen=True)
class Requests:
    """The number of requests that the operator sent since its start: all, writes, and writes with the answer 409."""

    all: float
    writes: float
    conflicts: float

    def since(self, before: Requests) -> Requests:
        return Requests(self.all - before.all, self.writes - before.writes, self.conflicts - before.conflicts)


class Server:
    """The API server and etcd of the benchmark."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of both processes since their start."""
        spent = [psutil.Process(self._plane.pid(name)).cpu_times() for name in ("etcd", "kube-apiserver")]
        return float(sum(one.user + one.system for one in spent))


class Operator:
    """The operator of one benchmark. It can be started again after its process has ended."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        (port,) = reserve_ports(1)
        self._longest_step = folder / "longest-step"
        self._metrics = f"http://127.0.0.1:{port}/metrics"
        self.component = Component(
            Command(
                "operator",
                (sys.executable, "-m", "benchmarks.fleets.served", self._longest_step, f"--health-port={port}"),
                ready_url=f"http://127.0.0.1:{port}/readyz",
                env={"KUBECONFIG": str(kubeconfig), "PYTHONPATH": f"{ROOT}:{ROOT}/crds:{ROOT}/operator"},
            ),
            folder / "operator.log",
        )
        self._process: psutil.Process | None = None

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Kill the process after the block."""
        try:
            yield
        finally:
            self.component.kill()

    def launch(self) -> float:
        """Start the process and return the monotonic time of the start."""
        began = time.monotonic()
        self.component.launch()
        self._process = psutil.Process(self.component.pid)
        return began

    async def ready(self) -> float:
        """Wait until the operator serves fleets, and return the monotonic time of that.

        Raises AssertionError after two minutes, or if the process has ended.
        """
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

    async def longest_step(self) -> float:
        """Return the seconds of the longest step since the previous call or the start. AssertionError after 5 s."""
        self._longest_step.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        for _ in range(100):
            await asyncio.sleep(0.05)
            if self._longest_step.exists():
                return float(self._longest_step.read_text())
        raise AssertionError("the operator does not say how long its steps took")

    async def quiet_since(self, began: float, watched_seconds: float = 25.0, settled_seconds: float = 4.0) -> float:
        """Return the seconds from ``began`` to the last busy second that belongs to the start.

        No busy second follows within ``settled_seconds``. Later busy seconds are periodic lists. Blocks until
        ``watched_seconds`` after ``began``.
        """
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
