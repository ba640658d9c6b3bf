"""Measure the start of fleets on a real cluster (``KUBECONFIG``, for example of ``make cluster``) and print tables.

    python -m benchmarks.start.measure exists --fleets 50     apply -> RayCluster exists
    python -m benchmarks.start.measure first-batch --rounds 3 apply -> first batch, beside the same made by hand
                                                  [--write docs/first-batch.md]

Both sides alternate, because a machine's speed varies. Compare the ratios of a round, not the seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from benchmarks.common import tables

# The seconds from the apply until each step is complete.
Steps = dict[str, float]
HERE = Path(__file__).parent
# The line that the drivers of both sides log when a step of the start is complete.
MILESTONE = re.compile(r"\bmilestone (\w+) ([0-9.]+)")
STEPS = ("head Ready", "workers Ready", "python", "ray", "imports", "constructed", "first_batch")
STRETCHES: dict[str, Callable[[Steps], float]] = {
    "from workers Ready to the first batch": lambda steps: steps["first_batch"] - steps["workers Ready"],
}
BY_HAND, FLEET = "by-hand", "fleet"
COMMAND = "python -m benchmarks.start.measure first-batch"
INTRODUCTION = """\
# From apply to the first batch

*fleet* is a fleet of two collectors. *by hand* is the same RayCluster and driver, from a manifest written by hand
(`benchmarks/start/by_hand.yaml`). The nodes of `make cluster` already have the images. A row is the number of seconds
from `kubectl apply` until a step is complete:

* *python*, *ray*, *imports*: the driver's Python runs, has joined Ray, and has imported TorchRL. The driver of a fleet
  imports TorchRL while Ray still starts.
* *constructed*, *first_batch*: the FleetCollector is constructed, and has handed out the first batch."""


def kubectl(*args: str, stdin: str | None = None, check: bool = True) -> str:
    """Run kubectl and return its output. Raises SystemExit if kubectl fails and ``check`` is true."""
    done = subprocess.run(["kubectl", *args], input=stdin, text=True, capture_output=True, check=False)
    if check and done.returncode:
        raise SystemExit(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout


def load_line() -> str:
    return "load average " + " ".join(f"{x:.1f}" for x in os.getloadavg())


class Watch:
    """A watch of one kind of object in one namespace. ``seen`` has each change with its Unix time on this machine."""

    def __init__(self, kind: str, namespace: str) -> None:
        self.seen: list[tuple[float, dict[str, Any]]] = []
        self._process = subprocess.Popen(
            ["kubectl", "get", kind, "-n", namespace, "--watch", "-o", "json"], stdout=subprocess.PIPE, text=True
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        decoder, text = json.JSONDecoder(), ""
        assert self._process.stdout
        for line in self._process.stdout:
            text += line
            if line.rstrip() == "}":
                item, end = decoder.raw_decode(text.lstrip())
                self.seen.append((time.time(), item))
                text = text.lstrip()[end:]

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


@contextmanager
def namespace(name: str) -> Iterator[str]:
    """Create a namespace with the workload's ConfigMap, and delete the namespace after the block."""
    kubectl("create", "namespace", name)
    try:
        code = (HERE / "workload.py").read_text()
        config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "workload"}}
        kubectl("apply", "-n", name, "-f", "-", stdin=json.dumps(config_map | {"data": {"workload.py": code}}))
        yield name
    finally:
        kubectl("delete", "namespace", name, "--wait=true", "--timeout=180s")


def until(what: str, test: Any, seconds: float) -> Any:
    """Call ``test`` until its result is true, and return the result. Raises SystemExit after ``seconds``."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := test():
            return value
        time.sleep(0.02)
    raise SystemExit(f"{what}: not within {seconds:.0f} s")


# ---------------------------------------------------------------- apply -> RayCluster exists
def measure_exists(fleets: int) -> None:
    """Measure and print the times until each of ``fleets`` fleets, one after the other, has a RayCluster."""
    fleet = yaml.safe_load((HERE / "fleet.yaml").read_text())
    # No pod of these fleets may start, because the benchmark measures the operator and not the kubelet.
    fleet["spec"]["workers"] = {"template": {"spec": {"nodeSelector": {"benchmark": "none"}}}}
    fleet["spec"]["ray"] = {"head": {"template": {"spec": {"nodeSelector": {"benchmark": "none"}}}}}
    fleet["spec"]["driver"]["template"] = {"spec": {"nodeSelector": {"benchmark": "none"}}}
    seconds: list[float] = []
    with namespace("bench-exists") as ns:
        watch = Watch("rayclusters.ray.io", ns)
        try:
            for i in range(fleets):
                name = f"fleet-{i}"
                body = json.dumps(fleet | {"metadata": {"name": name}})
                started = time.time()
                kubectl("create", "-n", ns, "-f", "-", stdin=body)
                created = time.time()

                def first_seen(name: str = name) -> float | None:
                    return next((t for t, o in watch.seen if o["metadata"]["name"] == name), None)

                seen = until(f"RayCluster {name}", first_seen, 30)
                seconds.append(max(seen - created, 0.0))
                print(f"{name}: {seen - started:.3f} s after kubectl began, {seen - created:.3f} s after it ended")
                kubectl("delete", "collectorfleet", name, "-n", ns, "--wait=false")
        finally:
            watch.stop()
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    print(
        f"\napply -> RayCluster exists, {fleets} fleets: p50 {statistics.median(ordered):.3f} s, p95 {p95:.3f} s, "
        f"max {ordered[-1]:.3f} s ({load_line()})"
    )


# ---------------------------------------------------------------- apply -> first batch
def pod_ready_times(watch: Watch, role: str) -> list[float]:
    """Return the Unix times at which the watch first showed each pod of a role as Ready, in ascending order."""
    ready: dict[str, float] = {}
    for seen, pod in watch.seen:
        labels = pod["metadata"].get("labels", {})
        if labels.get("ray.io/node-type") != role:
            continue
        conditions = pod.get("status", {}).get("conditions", [])
        if any(c["type"] == "Ready" and c["status"] == "True" for c in conditions):
            ready.setdefault(pod["metadata"]["name"], seen)
    return sorted(ready.values())


def run_side(side: str, manifest: str, job: str, timeout: float) -> Steps:
    """Apply ``manifest`` in a new namespace and return the times of the steps. ``job`` is the driver's Job.

    Raises SystemExit if there is no first batch within ``timeout`` seconds.
    """
    with namespace(f"bench-{side}") as ns:
        watch = Watch("pods", ns)
        try:
            started = time.time()
            kubectl("apply", "-n", ns, "-f", "-", stdin=manifest)

            def milestones() -> dict[str, float]:
                log = kubectl("logs", "-n", ns, f"job/{job}", "--tail=-1", check=False)
                return {name: float(at) for name, at in MILESTONE.findall(log)}

            until(f"{side}: first batch", lambda: "first_batch" in milestones(), timeout)
            found = milestones()
            steps = {name: at - started for name, at in found.items()}
            for step, role in (("head Ready", "head"), ("workers Ready", "worker")):
                if times := pod_ready_times(watch, role):
                    steps[step] = times[-1] - started
            return steps
        finally:
            watch.stop()


def measure_first_batch(rounds: int, timeout: float, page: str | None) -> None:
    manifests = {
        BY_HAND: ((HERE / "by_hand.yaml").read_text(), "by-hand-driver"),
        FLEET: ((HERE / "fleet.yaml").read_text(), "fleet-driver"),
    }
    pairs: list[dict[str, Steps]] = []
    for n in range(rounds):
        pair = {}
        for side in (BY_HAND, FLEET) if n % 2 == 0 else (FLEET, BY_HAND):
            pair[side] = run_side(side, *manifests[side], timeout)
            print(f"round {n + 1} {side}: first batch {pair[side]['first_batch']:.1f} s ({load_line()})", flush=True)
        pairs.append(pair)
    table = tables.table([f"{rounds} paired rounds, s", "by hand", "fleet", "ratio"], rows(pairs))
    text = f"{table}\n\n{tables.machine()}."
    print(f"\n{text}")
    if page is not None:
        tables.write(page, f"{INTRODUCTION}\n\n    {COMMAND} --rounds {rounds} --write {page}\n\n{text}")


def rows(pairs: Sequence[Mapping[str, Steps]]) -> list[list[str]]:
    """Return a row per step: the seconds of both sides and their ratio in the same round."""
    made = []
    for what, seconds in {**{step: _after_apply(step) for step in STEPS}, **STRETCHES}.items():
        found = [(seconds(pair[BY_HAND]), seconds(pair[FLEET])) for pair in pairs]
        cells = [tables.spread([pair[side] for pair in found]) for side in (0, 1)]
        made.append([what, *cells, tables.spread([fleet / by_hand for by_hand, fleet in found], "x")])
    return made


def _after_apply(step: str) -> Callable[[Steps], float]:
    return lambda steps: steps[step]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    exists = commands.add_parser("exists", help="apply -> RayCluster exists")
    exists.add_argument("--fleets", type=int, default=50)
    first = commands.add_parser("first-batch", help="apply -> first batch")
    first.add_argument("--rounds", type=int, default=3)
    first.add_argument("--timeout", type=float, default=300)
    first.add_argument("--write", metavar="FILE")
    args = parser.parse_args()
    if args.command == "exists":
        measure_exists(args.fleets)
    else:
        measure_first_batch(args.rounds, args.timeout, args.write)


if __name__ == "__main__":
    main()
