"""One run of one side with one fault, in a child process with its own Ray."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import psutil
import torch

from benchmarks.common import child
from benchmarks.common.patience import expecting
from benchmarks.faults import environment, memory_limit
from benchmarks.faults.ledger import Ledger
from benchmarks.faults.meanwhile import Watch, story
from benchmarks.faults.nodes import TwoNodes, two_nodes
from benchmarks.raycollector.sides import FLEET, RAY

COLLECTORS = 4
FRAMES_PER_BATCH = 80
# The batches before the fault. By then both sides deliver steadily.
FAULT_AFTER_BATCHES = 15
# Rollouts take 0.2 s, so the fault is in the middle of the next rollout.
_FAULT_DELAY_SECONDS = 0.1
# A side that delivers no batch for this time hangs.
HANG_SECONDS = 40.0
REQUEST_TIMEOUT_SECONDS = 3.0
# The side on which Ray restarts a failed actor and retries its calls.
RESTARTING = f"{RAY}, max_restarts=-1"


def make(side: str, folder: Path, policy: Any, slow_first: float = 1.0, **options: Any) -> Any:
    """Return the collector of one side. Its first environment is slower by the factor ``slow_first``.

    Both sides publish the policy before every batch. FleetCollector may look one batch ahead.
    """
    env = environment.MakeEnv(folder, slow_first)
    common = {"frames_per_batch": FRAMES_PER_BATCH, "sync": True, "update_after_each_batch": True, **options}
    if side == FLEET:
        from collectorfleet import FleetCollector

        return FleetCollector(
            [env] * COLLECTORS,
            policy,
            remote_configs={"num_cpus": 1},
            request_timeout=timedelta(seconds=REQUEST_TIMEOUT_SECONDS),
            **{"max_staleness": 1, **common},
        )
    from torchrl.collectors.distributed import RayCollector

    again = {"max_restarts": -1, "max_task_retries": -1} if side == RESTARTING else {}
    remote = {"num_cpus": 1, "num_gpus": 0, **again}
    return RayCollector([env] * COLLECTORS, policy, total_frames=10**12, remote_configs=remote, **common)


def set_weights(policy: Any, value: int) -> None:
    with torch.no_grad():
        next(policy.parameters()).fill_(value)


class Run:
    """One run of a collector. A thread takes ``batches`` batches, so that the main thread can detect a hanging run.

    ``disturb`` causes the fault. ``must_say`` is a text that an error must have, such as the user's message.
    """

    def __init__(
        self,
        collector: Any,
        policy: Any,
        ledger: Ledger,
        batches: int,
        disturb: Callable[[], None],
        must_say: str | None,
    ) -> None:
        self.ledger = ledger
        self.outcome = ""
        self.fault_at: float | None = None
        self.batch_times: list[float] = []
        self._collector, self._policy, self._batches, self._disturb = collector, policy, batches, disturb
        self._must_say = must_say
        self._asked_for = 0
        self._over = threading.Event()
        self._error: BaseException | None = None

    def watch(self) -> None:
        """Run and cause the fault. Block until the run ends, or delivers no batch for :data:`HANG_SECONDS`."""
        self.batch_times.append(time.monotonic())
        threading.Thread(target=self._consume, daemon=True).start()
        # The fault is caused here and not in a thread, because Ray can add nodes only in the main thread.
        while not self._over.wait(0.01):
            if self._asked_for > FAULT_AFTER_BATCHES and self.fault_at is None:
                self._over.wait(_FAULT_DELAY_SECONDS)
                self.fault_at = time.monotonic()
                self._disturb()
            if time.monotonic() - self.batch_times[-1] > HANG_SECONDS:
                self.outcome = f"hangs: no batch within {HANG_SECONDS:g} s, ended by the benchmark"
                return
        if self._error is not None:
            seconds = time.monotonic() - (self.fault_at or self.batch_times[0])
            said = "".join(traceback.format_exception(self._error))
            silent = self._must_say and self._must_say not in said
            lost = f" without a word of the cause ({self._must_say})" if silent else ""
            self.outcome = f"raises after {seconds:.1f} s{lost}: {_in_one_line(self._error)}"
        else:
            self.outcome = "continues"

    def _consume(self) -> None:
        try:
            self._iterate()
        except BaseException as error:  # noqa: BLE001  (the error is the result)
            self._error = error
        self._over.set()

    def _iterate(self) -> None:
        batches = iter(self._collector)
        for number in range(1, self._batches + 1):
            set_weights(self._policy, number)
            self._asked_for = number
            batch = next(batches)
            self.batch_times.append(time.monotonic())
            self.ledger.take(batch, number)

    def longest_pause(self) -> float:
        """Return the longest time between two batches after the fault, in seconds.

        It includes the pause in which the fault occurred. If no batch followed, the pause lasts until now.
        """
        since = self.fault_at or self.batch_times[0]
        late = [at for at in self.batch_times if at > since]
        before = [at for at in self.batch_times if at <= since][-1:]
        times = [*before, *late] if late else [*before, time.monotonic()]
        return max((b - a for a, b in pairwise(times)), default=0.0)


def _in_one_line(error: BaseException) -> str:
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
    return f"{type(error).__name__}: {first}"


@contextmanager
def ray_and_disturbance(fault: str, folder: Path) -> Iterator[Callable[[], None]]:
    """Run a Ray with CPUs for the collectors alone. Yield the function that causes the fault."""
    if fault == "node":
        with two_nodes(COLLECTORS // 2) as nodes:
            yield lambda: _lose_node(nodes)
    else:
        with child.local_ray(num_cpus=COLLECTORS, object_store_memory=300 * 2**20):
            yield lambda: _disturb(fault, folder)


def _lose_node(nodes: TwoNodes) -> None:
    nodes.lose_second()
    nodes.add_second()


def _disturb(fault: str, folder: Path) -> None:
    match fault:
        case "kill":
            os.kill(environment.collector_processes(folder)[0], signal.SIGKILL)
        case "stop":
            os.kill(environment.collector_processes(folder)[0], signal.SIGSTOP)
        case "memory":
            _run_out_of_memory(folder)
        case "raise in step" | "raise in policy":
            environment.order(folder, fault)
        case "nothing":
            pass
        case other:
            raise ValueError(f"unknown fault: {other}")


def _run_out_of_memory(folder: Path) -> None:
    environment.order(folder, "eat memory")
    with expecting("a collector that eats memory", 30):
        while not (folder / "eater").exists() or not (folder / "eater").read_text():
            time.sleep(0.01)
    eater = psutil.Process(int((folder / "eater").read_text()))
    with memory_limit.around(eater.pid, 256 * 2**20), expecting("the kernel to end it", 60):
        (folder / "limited").touch()
        psutil.wait_procs([eater])


def run(case: dict[str, Any]) -> NoReturn:
    """Make one run, write its results and exit. A case has ``side``, ``fault`` and ``batches``."""
    torch.set_num_threads(1)
    folder = Path(os.environ[child.FOLDER])
    side = case["side"]
    policy = environment.make_policy(folder)
    # FleetCollector publishes the first version in its constructor, RayCollector before the first batch.
    set_weights(policy, 1)
    with ray_and_disturbance(case["fault"], folder) as disturb:
        with expecting(f"{side}(...)", 120):
            collector = make(side, folder, policy)
        ledger = Ledger(bound=1 if side == FLEET else 0)
        watch = Watch(collector) if side == FLEET else None
        watched = Run(collector, policy, ledger, case["batches"], disturb, environment.SAYS.get(case["fault"]))
        watched.watch()
        found: dict[str, Any] = {
            "outcome": watched.outcome,
            "batches": ledger.batches,
            "frames": ledger.frames,
            "stale": ledger.stale,
            "mislabelled": ledger.mislabelled,
            "twice": ledger.twice,
            "pause": watched.longest_pause(),
            "counted": counted(side, collector),
        }
        if watch is not None:
            watch.stop()
            found |= asdict(story(watch.seen, watched.fault_at or 0.0, COLLECTORS))
        child.finish(found)


def counted(side: str, collector: Any) -> int:
    """Return the number of frames that the collector counts as delivered."""
    return int(collector.status().progress.frames_delivered if side == FLEET else collector.collected_frames)


if __name__ == "__main__":
    child.serve(run)
