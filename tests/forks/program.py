"""A program in Python as a fork of a process that has imported torch and more; all else is as ``subprocess`` has it."""

from __future__ import annotations

import atexit
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from typing import Any

from tests.forks import environments, server


@cache
def environment() -> dict[str, str]:
    """What who wants forks has to have in its environment. Starts the process that forks."""
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
    """Run ``python WORDS`` to its end, and say what it printed."""
    with Program(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"{[*map(str, words)]} did not end within {timeout:g} s:\n{out}\n{err}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


class Program(subprocess.Popen[Any]):
    """``python WORDS`` by its module (-m) or file, with all options of Popen that a program of ours is given.

    It is no child of this process: whoever forks says how it ended. What is overridden are Popen's own seams between
    what it promises and the operating system. A program that starts processes of ``multiprocessing`` is told so by
    ``forkserver``, and they are forks, too.
    """

    def __init__(self, words: Sequence[Any], *, forkserver: bool = False, **options: Any) -> None:
        self._forkserver = forkserver
        super().__init__([sys.executable, *map(str, words)], **options)

    def _execute_child(self, args: Sequence[str], *given: Any) -> None:
        folder, env, session, pipes = given[4], given[5], given[20], given[9:15]
        # Of each pipe the end that is not ours; where there is none, the file that this process has.
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
