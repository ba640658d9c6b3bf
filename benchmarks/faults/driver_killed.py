"""Kills the driver, starts it again and measures how much of the run is left.

FleetCollector's driver is ``collectorfleet run --checkpoint``, which is started again with ``--resume``. RayCollector's
driver is a script, which has no checkpoint to resume from.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common.child import Failed, Family
from benchmarks.faults import driver_code
from benchmarks.faults.rounds import Cell
from benchmarks.raycollector.sides import FLEET

# The driver is killed after this number of batches. The new driver must deliver the same number.
_BATCHES = 60
_CHECKPOINT_EVERY_SECONDS = 2
_PATIENCE_SECONDS = 120.0

Line = dict[str, Any]


@dataclass(frozen=True)
class Killed:
    """The result. ``last`` is the old driver's last line about a batch, ``first`` the new driver's first line.

    ``killed_at`` is a Unix time in seconds. ``status`` is the new driver's final status.
    """

    last: Line
    first: Line
    killed_at: float
    frames_noted: int  # of the new driver's batches and of the old driver's batches before them
    stale: int
    status: dict[str, Any]


class WaitedInVain(Exception):
    """A driver ended, or did not deliver in time."""


def _fleet(seen: Path) -> dict[str, Any]:
    return {
        "apiVersion": "collectorfleet.dev/v1alpha1",
        "kind": "CollectorFleet",
        "metadata": {"name": "killed"},
        "spec": {
            "image": "here:0",
            "environment": {"factory": "driver_code:make_env"},
            "policy": {"factory": "driver_code:make_policy"},
            "driver": {
                "train": {"function": "driver_code:train", "kwargs": {"seen": str(seen)}},
                "checkpoint": {"claimName": "only-on-a-cluster", "everySeconds": _CHECKPOINT_EVERY_SECONDS},
                "resources": {"cpu": 1, "memory": "1Gi"},
            },
            "collection": {"mode": "Sync", "framesPerBatch": driver_code.FRAMES_PER_BATCH},
            "collectors": {"replicas": driver_code.COLLECTORS, "resources": {"cpu": 1, "memory": "1Gi"}},
        },
    }


def _command(side: str, folder: Path, seen: Path, *, again: bool) -> list[str]:
    if side != FLEET:
        return [sys.executable, driver_code.__file__, side, str(seen)]
    manifest = folder / "fleet.yaml"
    manifest.write_text(json.dumps(_fleet(seen)))
    (folder / "driver_code.py").write_text(Path(driver_code.__file__).read_text())
    resume = ["--resume"] if again else []
    return [
        sys.executable, "-m", "collectorfleet.cli", "run", str(manifest), "-o", "json",
        "--checkpoint", str(folder / "checkpoints"), *resume,
    ]  # fmt: skip


@contextmanager
def _driver(command: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "TMPDIR": str(folder)}
    with (folder / "errors.txt").open("w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env, start_new_session=True
        )
        family = Family(process)
        try:
            yield process
        finally:
            family.end()


def _lines(seen: Path) -> list[Line]:
    return [json.loads(line) for line in seen.read_text().splitlines()] if seen.exists() else []


def _until(there: Callable[[], bool], process: subprocess.Popen[str], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not there():
        if process.poll() is not None:
            raise WaitedInVain(f"the driver ended with exit code {process.returncode} before {what}")
        if time.monotonic() > deadline:
            raise WaitedInVain(f"waited {_PATIENCE_SECONDS:g} s for {what}")
        time.sleep(0.05)


def kill_driver(side: str) -> Killed | Failed:
    """Kill and restart a driver of one side and return the result.

    Blocks for at most two minutes per driver. If a driver fails, print its errors on stderr.
    """
    # A short path, because the path of a socket of Ray may have at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="cfb-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            return _kill_driver(side, folder)
        except WaitedInVain as error:
            print((folder / "errors.txt").read_text()[-4000:], file=sys.stderr)
            return Failed(str(error))


def _kill_driver(side: str, folder: Path) -> Killed:
    seen, seen_again = folder / "seen.jsonl", folder / "again.jsonl"
    with _driver(_command(side, folder, seen, again=False), folder) as process:
        _until(lambda: len(_lines(seen)) >= _BATCHES, process, f"{_BATCHES} batches")
        process.send_signal(signal.SIGKILL)
        killed_at = time.time()
        process.wait()
        before = _lines(seen)
        with _driver(_command(side, folder, seen_again, again=True), folder) as second:
            enough = functools.partial(lambda: len(_lines(seen_again)) >= _BATCHES)
            _until(enough, second, f"{_BATCHES} batches of the new driver")
            status = _status(second) if side == FLEET else {}
    after = _lines(seen_again)
    kept = [line for line in before if line["batch"] < after[0]["batch"]]
    lines = [*kept, *after]
    return Killed(
        before[-1], after[0], killed_at, sum(x["frames"] for x in lines), sum(x["stale"] for x in lines), status
    )


def _status(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Stop the run as Ctrl-C does and return its final status. Blocks for at most 60 s."""
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    found: dict[str, Any] = json.loads(out)
    return found


def cells(found: Killed | Failed) -> list[Cell]:
    """Return the cells of ``found`` for the columns of the table of faults."""
    if isinstance(found, Failed):
        return [found.why, *[""] * 7]
    seconds = found.first["at"] - found.killed_at
    kept = found.first["batch"] - 1
    outcome = f"{'continues' if kept else 'starts over'} after {seconds:.1f} s"
    progress = found.status.get("progress", {})
    counted = "-"
    if progress:
        counted = _counted(progress["framesDelivered"], found.frames_noted)
    said = f"framesLost {progress['framesLost']}" if "framesLost" in progress else "-"
    pause = found.first["at"] - found.last["at"]
    return [outcome, f"{found.last['batch'] - kept} lost", counted, str(found.stale), pause, "-", "-", said]


def _counted(by_status: int, noted: int) -> str:
    return "equal" if by_status == noted else f"{by_status} / {noted}"
