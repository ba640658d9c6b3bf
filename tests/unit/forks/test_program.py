"""A fork is what Python would be that was started with the same words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from ray._raylet import (
    DASHBOARD_AGENT_LISTEN_PORT_NAME,
    METRICS_AGENT_PORT_NAME,
    METRICS_EXPORT_PORT_NAME,
    wait_for_persisted_port,
)
from tests.cluster.machine import Process
from tests.forks import environments, ray_workers
from tests.forks.program import Program, environment, run
from tests.wait import eventually

PROGRAM = """
import json, os, sys, tempfile
import helper
said = [os.environ["WHO"], helper.__file__, tempfile.gettempdir(), sys.stdin.read()]
print(json.dumps([sys.argv, __name__, os.getcwd(), *said]))
print(sorted(set(sys.path)), file=sys.stderr)
sys.exit(3)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "helper.py").touch()
    return tmp_path


@pytest.mark.parametrize("words", [["program.py", "--one"], ["-m", "program", "--one"]], ids=["file", "module"])
def test_words_environment_folder_files_and_exit_code_are_its_own(folder: Path, words: list[str]) -> None:
    env = {"WHO": "me", "PYTHONPATH": str(folder / "elsewhere"), "TMPDIR": str(folder)}
    options: dict[str, Any] = {"env": env, "cwd": folder}
    options |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, *words], **options) as plain:
        wanted = plain.communicate("said", timeout=60)
    with Program(words, **options) as forked:
        assert forked.communicate("said", timeout=60) == wanted
    assert forked.returncode == plain.returncode == 3


def test_a_signal_ends_it_and_it_is_waited_for_once_or_more(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(600)\n")
    with Program([tmp_path / "waits.py"], stdout=subprocess.PIPE, text=True) as waits:
        assert waits.stdout
        assert waits.stdout.readline() == "begun\n"
        assert waits.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            waits.wait(0.01)
        waits.send_signal(signal.SIGKILL)
        assert (waits.wait(30), waits.wait(), waits.poll()) == (-signal.SIGKILL,) * 3


def test_an_error_is_on_its_stderr_and_is_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("import atexit\natexit.register(print, 'ended')\nraise ValueError('no')\n")
    done = run([tmp_path / "fails.py"], timeout=30)
    assert (done.returncode, done.stdout) == (1, "ended\n")
    assert done.stderr.endswith("ValueError: no\n")


IMPORTED = "import sys\nprint([name in sys.modules for name in ('torch', 'torchrl', 'ray')])\n"
LEVEL = "import ray._private.ray_constants as constants\nprint(constants.LOGGER_LEVEL)\n"


def test_torch_torchrl_and_ray_are_imported_already(tmp_path: Path) -> None:
    (tmp_path / "imported.py").write_text(IMPORTED)
    assert run([tmp_path / "imported.py"], timeout=60).stdout == "[True, True, True]\n"


def test_what_ray_reads_while_it_is_imported_is_a_programs_own(tmp_path: Path) -> None:
    (tmp_path / "imported.py").write_text(IMPORTED)
    (tmp_path / "level.py").write_text(LEVEL)
    env = {**os.environ, "RAY_LOGGER_LEVEL": "debug"}
    assert run([tmp_path / "imported.py"], timeout=60, env=env).stdout == "[True, False, False]\n"
    # From the second program on, an environment has a server of its own.
    assert run([tmp_path / "imported.py"], timeout=60, env=env).stdout == "[True, True, True]\n"
    assert run([tmp_path / "level.py"], timeout=60, env=env).stdout == "debug\n"
    assert run([tmp_path / "level.py"], timeout=60).stdout == "info\n"


def test_no_variable_that_is_ignored_is_read_while_they_are_imported() -> None:
    reads = (
        "import os, sys\n"
        f"for name in {environments.PLAIN}: __import__(name)\n"
        "reads, environ = set(), type(os.environ)\n"
        "read = environ.__getitem__\n"
        "environ.__getitem__ = lambda self, name: (reads.add(name), read(self, name))[1]\n"
        f"for name in {environments.READING}: __import__(name)\n"
        "print(*sorted(reads))\n"
    )
    done = subprocess.run([sys.executable, "-c", reads], capture_output=True, text=True, check=True, timeout=300)
    names = set(done.stdout.split())
    assert "RAY_LOGGER_LEVEL" in names
    assert not names & environments.IGNORED
    assert not [name for name in names if name.startswith(environments.OURS)]


def test_a_service_of_ray_ends_with_the_process_that_ray_started_for_it(tmp_path: Path) -> None:
    (tmp_path / "service.py").write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n")
    words = [sys.executable, "-S", ray_workers.SERVICE, str(tmp_path / "service.py")]
    env = {**os.environ, **environment()}
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout
        service = Process.of(int(started.stdout.readline()))
        assert service.alive
        started.kill()
    eventually(lambda: not service.alive, within=30, what="the service ended")


def test_a_service_of_ray_ends_with_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "service.py").write_text("import sys\nsys.exit(7)\n")
    words = [sys.executable, "-S", ray_workers.SERVICE, str(tmp_path / "service.py")]
    ended = subprocess.run(words, check=False, env={**os.environ, **environment()}, timeout=60)
    assert ended.returncode == 7


def test_what_stands_in_for_the_dashboards_agent_has_no_ports_and_ends_with_its_raylet(tmp_path: Path) -> None:
    raylet = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:]).pid, flush=True); sys.stdin.read()"
    node = "ab" * 28
    stand_in = [sys.executable, "-S", ray_workers.NO_DASHBOARD_AGENT, str(tmp_path), node]
    words = [sys.executable, "-c", raylet, *stand_in]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout
        agent = Process.of(int(started.stdout.readline()))
        for name in (METRICS_AGENT_PORT_NAME, METRICS_EXPORT_PORT_NAME, DASHBOARD_AGENT_LISTEN_PORT_NAME):
            assert wait_for_persisted_port(str(tmp_path), node, name, timeout_ms=60_000) == -1
        assert agent.alive
        started.kill()
    eventually(lambda: not agent.alive, within=30, what="the stand-in ended")


FORKS = """
import multiprocessing, os, sys
import psutil

def says(pipe):
    pipe.send([__name__, os.environ["WHO"], os.getcwd(), os.getppid(), "torch" in sys.modules])

if __name__ == "__main__":
    os.environ["WHO"] = "me"
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe()
    process = context.Process(target=says, args=(theirs,))
    process.start()
    *said, parent, torch = ours.recv()
    process.join()
    print(said, process.exitcode, psutil.Process(parent).ppid() == os.getpid())
    print(torch, parent)
"""


def test_processes_of_a_program_are_forks_of_a_child_that_has_torch_and_ends_with_it(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(FORKS)
    words, options = [tmp_path / "forks.py"], {"cwd": tmp_path, "text": True}
    plain = subprocess.run([sys.executable, *words], capture_output=True, check=True, **options).stdout.splitlines()
    forked = run(words, timeout=60, forkserver=True, cwd=tmp_path).stdout.splitlines()
    assert forked[0] == plain[0]
    assert [line.split()[0] for line in (plain[1], forked[1])] == ["False", "True"]
    eventually(lambda: not psutil.pid_exists(int(forked[1].split()[1])), within=30, what="the end of the forkserver")


def test_a_forkserver_that_a_program_does_not_use_ends_with_it_and_by_no_interruption(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(600)\n")
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with Program([tmp_path / "waits.py"], forkserver=True, start_new_session=True, **options) as waits:
        assert waits.stdout
        waits.stdout.readline()
        [reserved] = psutil.Process(waits.pid).children()
        reserved.send_signal(signal.SIGINT)
        assert reserved.is_running()
        waits.kill()
        assert waits.communicate(timeout=30) == ("", "")
    eventually(lambda: not reserved.is_running(), within=30, what="the end of the forkserver")
