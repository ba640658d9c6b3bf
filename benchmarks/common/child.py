"""Runs each measurement in a child process with its own Ray. So no earlier measurement can disturb or block it.

The parent calls :func:`measure`. It starts ``python -m MODULE CASE RESULT`` and kills all processes that the child
leaves. The child calls :func:`serve`.
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
    """The result of a measurement without numbers. ``why`` is the reason in one line."""

    why: str


def measure(
    module: str,
    case: Mapping[str, Any],
    *,
    timeout: float,
    environment: Mapping[str, str] | None = None,
    python: str | None = None,
) -> dict[str, Any] | Failed:
    """Run ``module`` in a child process and return the numbers that it measured for ``case``.

    Blocks for at most ``timeout`` seconds. If the child fails, print its errors and its workers' stacks on stderr.
    ``environment`` is added to the child's environment. ``python`` is another interpreter, with its own packages.
    Such an interpreter can import the benchmarks and no other module of this environment.
    """
    # On SIGTERM, raise SystemExit, so that the `finally` blocks kill the child processes as on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    # A short path, because the path of a socket of Ray may have at most 107 bytes.
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
                cwd=folder,  # MuJoCo writes a log into the working directory
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
    """A process and its descendants. It can kill all of them, even after their parents have ended."""

    def __init__(self, process: subprocess.Popen[Any]) -> None:
        self._process = process
        self._members: dict[int, psutil.Process] = {}

    def look(self) -> None:
        """Remember the current descendants. The children of an ended process cannot be found later."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self._members |= {p.pid: p for p in psutil.Process(self._process.pid).children(recursive=True)}

    def end(self) -> None:
        """Kill the process and all known descendants. Block until the process has ended."""
        self.look()
        for member in (*self._members.values(), self._process):
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        self._process.wait()


def _wait(process: subprocess.Popen[bytes], timeout: float) -> int | None:
    """Return the exit code, or None after ``timeout`` seconds. Kill the process and all its descendants."""
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
    """Run the main function of a child: measure the case of ``sys.argv``, write the result and exit."""
    patience.answer_with_stacks()
    finish(run(json.loads(sys.argv[1])))


def finish(found: dict[str, Any]) -> NoReturn:
    """Write the result and exit at once, even if a thread still waits. The parent kills the remaining processes."""
    Path(sys.argv[2]).write_text(json.dumps(found))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


@contextlib.contextmanager
def local_ray(**options: Any) -> Iterator[None]:
    """Run a local Ray during the block. Its files are in a folder that the parent deletes.

    ``options`` override the options of ``ray.init``. The process exits if Ray does not start within 60 s or does not
    stop within 30 s.
    """
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
