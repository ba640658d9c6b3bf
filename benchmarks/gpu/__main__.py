"""Measure on one GPU, and print one JSON line per measurement and tables of all lines.

    python -m benchmarks.gpu [transport] [weights] [inference] [--limit 145] [--write FILE]
    python -m benchmarks.gpu transport --device cpu --quick    # checks that it runs, without useful figures

Each measurement runs in a child process. ``--limit`` is in seconds for all measurements together. If the limit ends a
measurement, its finished lines are printed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import tables
from benchmarks.gpu import results

# The longest time of each measurement in seconds. The last measurement gets the rest of the limit instead.
MEASUREMENTS = {"transport": 65.0, "weights": 60.0, "inference": 80.0}
# The time for Ray and its processes to end after SIGTERM.
ENDING_SECONDS = 8.0


def measure(name: str, device: str, path: Path, *, quick: bool) -> None:
    """Measure in this process and write the lines into the file at ``path``, even after an error. Raises the error."""
    import torch

    from benchmarks.gpu.devices import describe

    torch.set_num_threads(1)
    print(f"{name}: {describe(device)}", flush=True)
    found = results.Results(name, path)
    try:
        importlib.import_module(f"benchmarks.gpu.{name}").measure(found, device, quick=quick)
    except Exception as error:
        found.fail("the measurement", "all", error)
        raise
    finally:
        found.save()


def run(name: str, arguments: list[str], path: Path, seconds: float) -> list[results.Line]:
    """Measure in a child process for at most ``seconds``. Print and return the lines."""
    began, code = time.monotonic(), None
    command = [sys.executable, "-m", "benchmarks.gpu", name, *arguments, "--here", str(path)]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(seconds)
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        text = path.read_text() if path.exists() else ""
        how = "ended by the limit" if code is None else f"exit code {code}"
        print(f"{text}{name}: {how} after {time.monotonic() - began:.0f} s", flush=True)
    return [json.loads(line) for line in text.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", nargs="*", metavar="MEASUREMENT", help=f"default: {' '.join(MEASUREMENTS)}")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds")
    parser.add_argument("--limit", type=float, default=145.0, help="seconds for all measurements together")
    parser.add_argument("--write", metavar="FILE", help="write the tables there too")
    parser.add_argument("--here", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    names = args.measurements or list(MEASUREMENTS)
    if unknown := set(names) - set(MEASUREMENTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(MEASUREMENTS)}")
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    if args.here:
        measure(names[0], args.device, Path(args.here), quick=args.quick)
        return
    ends, lines = time.monotonic() + args.limit, list[results.Line]()
    arguments = ["--device", args.device, *(["--quick"] if args.quick else [])]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            left = max(1.0, ends - time.monotonic() - ENDING_SECONDS)
            seconds = left if name == names[-1] else min(MEASUREMENTS[name], left)
            lines += run(name, arguments, Path(folder) / name, seconds)
    text = results.markdown(lines)
    print(f"\n{text}", flush=True)
    if args.write:
        tables.write(args.write, text)


if __name__ == "__main__":
    main()
