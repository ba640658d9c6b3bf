"""Run a Python program as a fork of a process that has imported torch. Otherwise it behaves as with ``subprocess``."""

from __future__ import annotations

import atexit
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

from tests.forks import environments, server
from tests.patience import waits


@cache
def environment() -> dict[str, str]:
    """Return the variables with which a process and its children get forks.

    The first call starts the plain server and the server for this environment. Both end with this process.
    """
    folder = tempfile.mkdtemp(prefix="forks-")
    path, owner = f"{folder}/socket", str(os.getpid())
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, server.__file__, path, owner, *environments.PLAIN]
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    found = {environments.ENV_SOCKET: path, environments.ENV_OWNER: owner}
    environments.start_server_for(path, {**os.environ, **found}, os.getpid())

    def end() -> None:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)

    atexit.register(end)
    return found


def run(words: Sequence[Any], *, timeout: float, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run ``python WORDS`` until it ends, and return its exit code and output.

    After ``timeout`` seconds, kill it and raise AssertionError with its output.
    """
    began = time.monotonic()
    with Program(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"{[*map(str, words)]} did not end within {timeout:g} s:\n{out}\n{err}") from None
    waits.note(time.monotonic() - began, timeout, f"the end of {' '.join(map(str, words))}")
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


class Program(subprocess.Popen[Any]):
    """A running ``python WORDS``, with a module (``-m``) or a file, and with the options of Popen that our tests use.

    The program is a child of the server, not of this process, and the server reports its status. So this class
    overrides the private methods by which Popen starts a process and waits for its end. With ``forkserver``, processes
    that the program starts with ``multiprocessing`` are forks, too.
    """

    def __init__(self, words: Sequence[Any], *, forkserver: bool = False, **options: Any) -> None:
        self._forkserver = forkserver
        super().__init__([sys.executable, *map(str, words)], **options)

    def _execute_child(self, args: Sequence[str], *given: Any) -> None:
        folder, env, session, pipes = given[4], given[5], given[20], given[9:15]
        # The program's end of each pipe. Without a pipe, the program gets the standard file of this process.
        files = [end if end >= 0 else standard for standard, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        forks = environment()
        own = {**(os.environ if env is None else env), **forks}
        plain = forks[environments.ENV_SOCKET]
        connection = server.ask(
            environments.server_for(plain, own, os.getpid()),
            args[1:],
            own,
            os.path.abspath(folder or "."),
            files,
            session=session,
            pid=os.getpid(),
            forkserver=self._forkserver,
        )
        assert connection is not None
        self._connection, self._answers = connection, connection.makefile("rb")
        self.pid = int(self._answers.readline())
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, _deadstate: object = None) -> int | None:
        with self._waitpid_lock:  # type: ignore[attr-defined]
            if self.returncode is None:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
        return self.returncode

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if not select.select([self._connection], [], [], 0 if wait_flags & os.WNOHANG else None)[0]:
            return 0, 0
        status = int(self._answers.readline())
        self._answers.close()
        self._connection.close()
        return self.pid, status
