"""The program that has a fleet without Ray: it runs once, and what it does meanwhile is as it would be without one."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest
from tests.cluster.binaries import ROOT
from tests.wait import eventually


def run(folder: Path, program: str, carrier: str) -> list[str]:
    """Of a program in a file of its own: the lines that it prints. It ends with 0 and leaves nobody."""
    script = folder / "program.py"
    script.write_text(textwrap.dedent(program))
    done = subprocess.run(
        [sys.executable, str(script), carrier],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    pids = next(line for line in lines if line.startswith("pids")).split()[1:]
    assert len(pids) >= 2
    eventually(lambda: [pid for pid in pids if psutil.pid_exists(int(pid))] == [], within=60, what="their end")
    return [line for line in lines if not line.startswith("pids")]


@pytest.mark.parametrize(
    "carrier",
    [
        "torch_distributed",
        pytest.param(
            "rpc",
            marks=pytest.mark.variant_of(
                "tests/runtime/test_programs.py::test_a_script_without_a_guard_runs_once_and_closes_a_fleet_that_it_drops"
            ),
        ),
    ],
)
def test_a_script_without_a_guard_runs_once_and_closes_a_fleet_that_it_drops(tmp_path: Path, carrier: str) -> None:
    program = """
        import os, sys, threading
        import psutil
        from tests import envs
        from collectorfleet import FleetCollector

        print("begun", flush=True)
        options = dict(frames_per_batch=20, num_collectors=2, transport=sys.argv[1])
        collector = FleetCollector(
            lambda: envs.make_counting(), envs.make_policy(), sync=True, total_frames=40, **options
        )
        for batch in collector:
            print(batch.numel(), flush=True)

        def main():
            collector = FleetCollector(envs.make_counting, envs.make_policy(), sync=False, **options)
            close = collector._transport.close

            def closes():
                threading.main_thread().join()
                close()
                os.write(1, b"closed")

            collector._transport.close = closes
            for batch in collector:
                break
            print("pids", *[one.pid for one in psutil.Process().children(recursive=True)], flush=True)

        main()
    """
    assert run(tmp_path, program, carrier) == ["begun", "20", "20", "closed"]


@pytest.mark.parametrize(
    "carrier",
    [
        "torch_distributed",
        pytest.param(
            "rpc",
            marks=pytest.mark.variant_of(
                "tests/runtime/test_programs.py::test_what_the_program_pickles_and_begins_meanwhile_has_its_main_and_its_modules"
            ),
        ),
    ],
)
def test_what_the_program_pickles_and_begins_meanwhile_has_its_main_and_its_modules(
    tmp_path: Path, carrier: str
) -> None:
    program = """
        import multiprocessing, pickle, sys, threading

        class Own:
            pass

        def pickles(over, failures):
            while not over.is_set():
                try:
                    pickle.dumps(Own)
                except pickle.PicklingError as error:
                    failures.append(error)

        def says():
            print("tabnanny" in sys.modules, flush=True)

        if __name__ == "__main__":
            import psutil
            from tests import envs
            from collectorfleet import FleetCollector

            multiprocessing.set_forkserver_preload(["tabnanny"])
            over, failures = threading.Event(), []
            threading.Thread(target=pickles, args=(over, failures)).start()
            for _ in range(2):
                collector = FleetCollector(
                    envs.make_counting, envs.make_policy(), frames_per_batch=20, num_collectors=4, sync=True,
                    total_frames=20, transport=sys.argv[1],
                )
                for method in ("spawn", "forkserver"):
                    process = multiprocessing.get_context(method).Process(target=says)
                    process.start()
                    process.join()
                next(iter(collector))
                collector.shutdown()
            over.set()
            print(*set(map(str, failures)), "failed")
            print("pids", *[one.pid for one in psutil.Process().children(recursive=True)], flush=True)
    """
    assert run(tmp_path, program, carrier) == ["False", "True"] * 2 + ["failed"]
