"""One measurement in a process of its own, with a Ray of its own: what went before cannot disturb it, nor hang it.

The parent starts ``python -m MODULE CASE RESULT`` and ends everything that it left behind. The child's side is
:func:`serve`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import psutil

from benchmarks.common import patience

_ROOT = Path(__file__).parents[2]
FOLDER = "COLLECTORFLEET_BENCHMARK_FOLDER"


@dataclass(frozen=True)
class Failed:
    """A measurement that has no numbers, and why in one line."""

    why: str


def measure(
    module: str,
    case: Mapping[str, Any],
    *,
    timeout: float,
    environment: Mapping[str, str] | None = None,
    python: str | None = None,
) -> dict[str, Any] | Failed:
    """What the child measured of ``case``; blocks for ``timeout`` seconds at most.

    ``python`` is one with packages of its own, which has these benchmarks and nothing else of this one.
    When it fails, its errors and the stacks of its workers are printed on stderr.
    """
    # A benchmark that is ended ends its children, as it does on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    # Ray's sockets have paths of at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="cfb-"))
    errors = folder / "errors.txt"
    result = folder / "result.json"
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p) if python is None else str(_ROOT),
        FOLDER: str(folder),
        "PYTHONUNBUFFERED": "1",
    }
    env |= environment or {}
    try:
        with errors.open("wb") as stderr:
            process = subprocess.Popen(
                [python or sys.executable, "-m", module, json.dumps(case), str(result)],
                stdout=stderr, stderr=stderr, env=env, start_new_session=True,
                cwd=folder,  # MuJoCo writes a log wherever it runs
            )  # fmt: skip
            code = _wait(process, timeout)
        if code == 0 and result.exists():
            return dict(json.loads(result.read_text()))
        why = _why(code, errors.read_text(errors="replace"), timeout)
        print(f"--- {json.dumps(case)}: {why}\n{_evidence(folder)}", file=sys.stderr, flush=True)
        return Failed(why)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Family:
    """A process and all that it started, so that nothing of it lives on, whoever died first."""

    def __init__(self, process: subprocess.Popen[Any]) -> None:
        self._process = process
        self._members: dict[int, psutil.Process] = {}

    def look(self) -> None:
        """Note who belongs to it now; those of a process that died cannot be found any more."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self._members |= {p.pid: p for p in psutil.Process(self._process.pid).children(recursive=True)}

    def end(self) -> None:
        self.look()
        for member in (*self._members.values(), self._process):
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        self._process.wait()


def _wait(process: subprocess.Popen[bytes], timeout: float) -> int | None:
    """The exit code, or None if it took too long; nothing that it started lives on."""
    deadline = time.monotonic() + timeout
    family = Family(process)
    try:
        while process.poll() is None and time.monotonic() < deadline:
            family.look()
            time.sleep(0.2)
        return process.poll()
    finally:
        family.end()


def _why(code: int | None, errors: str, timeout: float) -> str:
    if code is None:
        return f"not finished within {timeout:g} s"
    waited = [line for line in errors.splitlines() if line.startswith(patience.WAITED)]
    if code == patience.EXIT_WAITED and waited:
        return waited[-1]
    last = next((line for line in reversed(errors.splitlines()) if line.strip()), "no message")
    return f"exit code {code}: {last}"


def _evidence(folder: Path) -> str:
    parts = [(folder / "errors.txt").read_text(errors="replace")[-8000:]]
    for log in sorted(folder.glob("session_latest/logs/worker-*.err")):
        text = log.read_text(errors="replace")
        if text.strip():
            parts.append(f"{log.name}:\n{text[-3000:]}")
    return "\n".join(parts)


def serve(run: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """The child's main function: measures the case of ``argv`` and writes the result."""
    patience.answer_with_stacks()
    finish(run(json.loads(sys.argv[1])))


def finish(found: dict[str, Any]) -> NoReturn:
    """Write the result and exit. What still runs, such as a thread that waits for ever, is the parent's to end."""
    Path(sys.argv[2]).write_text(json.dumps(found))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


@contextlib.contextmanager
def local_ray(**options: Any) -> Iterator[None]:
    """A Ray of this process's own, in the folder that the parent removes."""
    import ray

    with patience.expecting("ray.init", 60):
        ray.init(
            **{
                "num_cpus": 16,
                "include_dashboard": False,
                "log_to_driver": False,
                "object_store_memory": 2 * 2**30,
                "_temp_dir": os.environ[FOLDER],
                **options,
            }
        )
    try:
        yield
    finally:
        with patience.expecting("ray.shutdown", 30):
            ray.shutdown()
