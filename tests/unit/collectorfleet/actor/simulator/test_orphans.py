"""A process that gets orphans, as process 1 of a container does, reaps supervisors of simulators and nothing else."""

from __future__ import annotations

from pathlib import Path

from tests.forks.program import run

# Gets orphans. Starts a simulator from a child that ends, and a child whose exit code is asked for at the end.
GETS_ORPHANS = """
import ctypes, os, subprocess, sys
import psutil
from tests.wait import eventually
from collectorfleet.actor.simulator import orphans, process
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
other = subprocess.Popen([sys.executable, "-c", "raise SystemExit(5)"])
collector = os.fork()
if collector == 0:
    process.SimulatorProcess(["sleep", "3600"], {}, [])
    os._exit(0)
assert os.waitpid(collector, 0)[1] == 0
def zombies():
    children = psutil.Process().children()
    return sorted(one.pid for one in children if one.pid != other.pid and one.status() == psutil.STATUS_ZOMBIE)
eventually(zombies, within=60, what="a zombie")
orphans._LOOK_SECONDS = 0.1
orphans.start_to_reap()
eventually(lambda: not zombies(), within=60, what="the end of the zombie")
sys.exit(other.wait())
"""


def test_a_supervisor_whose_collector_ended_is_reaped_and_no_exit_code_of_others_is_lost(tmp_path: Path) -> None:
    script = tmp_path / "gets_orphans.py"
    script.write_text(GETS_ORPHANS)
    ended = run([script], timeout=150)
    assert ended.returncode == 5, ended.stderr
