"""``python -m tests.mutation PACKAGE [--seed N] [--mutants N]``: see the docstring of the package."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.mutation import layout
from tests.mutation.mutants import Mutant, sample

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    mutant: Mutant
    killed: bool
    change: str


def main() -> int:
    asked = _arguments()
    try:
        modules = layout.modules_of(asked.package, ROOT)
        folders = {module: layout.tests_of(module, ROOT) for module in modules}
    except FileNotFoundError as wrong:
        return _refuse(str(wrong))
    mutants = sample(modules, ROOT, asked.mutants, asked.seed)
    with _copies(asked.processes) as copies:
        try:
            limits = {folder: _limit(folder, copies[0]) for folder in sorted(set(folders.values()))}
        except RuntimeError as wrong:
            return _refuse(str(wrong))
        free: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for copy in copies:
            free.put(copy)

        def tried(mutant: Mutant) -> Outcome:
            copy = free.get()
            try:
                return _try(mutant, folders[mutant.module], limits[folders[mutant.module]], copy)
            finally:
                free.put(copy)

        outcomes = []
        with ThreadPoolExecutor(asked.processes) as threads:
            for number, outcome in enumerate(threads.map(tried, mutants), 1):
                outcomes.append(outcome)
                print(
                    f"{number}/{len(mutants)} {'killed' if outcome.killed else 'SURVIVED'} {outcome.mutant}", flush=True
                )
    _report(asked.package, asked.seed, outcomes)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="See make mutate.")
    parser.add_argument("package", help="a package or module, such as collectorfleet_api.packing")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def _refuse(why: str) -> int:
    print(why, file=sys.stderr)
    return 2


@contextlib.contextmanager
def _copies(count: int) -> Iterator[list[Path]]:
    """Copies of the checkout, in which files may be changed."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    with tempfile.TemporaryDirectory(prefix="collectorfleet-mutation-") as folder:
        copies = [Path(folder) / str(number) for number in range(count)]
        for copy in copies:
            for name in names:
                if name and (ROOT / name).is_file():
                    (copy / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, copy / name)
        yield copies


def _limit(folder: Path, copy: Path) -> float:
    """Seconds that the tests of a folder may take with a mutant; RuntimeError if they fail without one."""
    begun = time.monotonic()
    done = _run(folder, copy, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(f"{folder}: the tests fail without any mutant; mend them first:\n{done.stdout[-3000:]}")
    return 30 + 5 * (time.monotonic() - begun)


def _try(mutant: Mutant, folder: Path, limit: float, copy: Path) -> Outcome:
    file = copy / mutant.module
    source = file.read_text()
    changed = mutant.apply(source)
    diff = difflib.unified_diff(source.splitlines(), changed.splitlines(), lineterm="", n=0)
    change = "\n".join(line for line in diff if line[:1] in "+-" and line[:3] not in ("+++", "---"))
    file.write_text(changed)
    try:
        killed = _run(folder, copy, timeout=limit).returncode != 0
    except subprocess.TimeoutExpired:
        killed = True
    finally:
        file.write_text(source)
    return Outcome(mutant, killed, change)


def _run(folder: Path, copy: Path, timeout: float) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", str(folder)]
    # Two changes within one second would have the same file of bytecode.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(words, check=False, cwd=copy, env=env, timeout=timeout, capture_output=True, text=True)


def _report(package: str, seed: int, outcomes: Sequence[Outcome]) -> None:
    killed = sum(outcome.killed for outcome in outcomes)
    print(f"\n{package}, seed {seed}: {killed} of {len(outcomes)} mutants killed ({killed / len(outcomes):.0%})")
    for outcome in outcomes:
        if not outcome.killed:
            print(f"\nsurvived: {outcome.mutant}\n{outcome.change}")


if __name__ == "__main__":
    sys.exit(main())
