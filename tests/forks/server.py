"""Serve forks of a process that has imported modules: ``python server.py SOCKET PID MODULE...``.

The server imports the modules and has one thread. A client that needs a program connects to SOCKET. The server ends
when process PID has ended. The script that starts a worker of Ray imports this file, so this file imports only modules
that every program needs.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

ROOT = os.path.abspath(f"{os.path.dirname(os.path.abspath(__file__))}/../..")
# Programs import the product from the working copy, not an installed one.
OWN = (ROOT, os.path.join(ROOT, "crds"), os.path.join(ROOT, "collector_image"))
MOST_BYTES = 2**20
LOOK_SECONDS = 1.0


def ask(
    path: str,
    words: Sequence[str],
    env: Mapping[str, str],
    folder: str,
    files: Sequence[int],
    *,
    session: bool,
    pid: int,
    tied: bool = False,
    forkserver: bool = False,
) -> socket.socket | None:
    """Let the server at ``path`` fork ``python WORDS``, and return the connection to the server.

    On the connection, the server writes the program's pid, and after its end its status as ``wait`` returns it, each on
    a line. Blocks until the server listens. Returns None if process ``pid`` ends before that.

    Args:
        path: the socket of the server.
        words: the file or ``-m`` and the module, with arguments.
        env: the environment of the program.
        folder: the working directory of the program.
        files: its standard input, output and error.
        session: whether the program has its own session; otherwise it has its own process group.
        pid: the process with which the server ends.
        tied: whether the server kills the program when the connection is closed.
        forkserver: whether the program has a forkserver of multiprocessing in reserve (:mod:`.forkserver`).
    """
    connection = _connect(path, pid)
    if connection is None:
        return None
    program = {"words": list(words), "env": dict(env), "folder": folder}
    message = {**program, "session": session, "tied": tied, "forkserver": forkserver}
    socket.send_fds(connection, [json.dumps(message).encode()], list(files))
    connection.sendall(b"\n")
    return connection


def _connect(path: str, pid: int) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    while connection.connect_ex(path):  # the server still imports
        if not _is_alive(pid):
            connection.close()
            return None
        time.sleep(0.02)
    return connection


def main(path: str, pid: str, *modules: str) -> None:
    """Import the modules and serve forks. In each fork, run its program and exit with its exit code."""
    folders = list(sys.path)
    for module in modules:
        importlib.import_module(module)
    sys.path[:] = folders  # Ray adds folders with other versions of packages
    gc.collect()
    gc.freeze()  # garbage collections of forks then do not write to shared pages
    asked = _Server(path, int(pid)).serve()
    if asked is not None:
        _end(_exit_code(*asked))


class _Server:
    def __init__(self, path: str, pid: int) -> None:
        self._path, self._pid = path, pid
        self._connections: dict[int, socket.socket] = {}
        self._listens = socket.socket(socket.AF_UNIX)
        self._wakes, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        signal.set_wakeup_fd(self._woken.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listens, selectors.EVENT_READ)
        self._selector.register(self._wakes, selectors.EVENT_READ)
        self._listens.bind(f"{path}.new")
        self._listens.listen(64)
        os.rename(f"{path}.new", path)

    def serve(self) -> tuple[dict[str, Any], list[int]] | None:
        """Fork programs until process PID has ended, and then return None.

        In each fork, return at once: the request for the program that the fork becomes, and its files.
        """
        while _is_alive(self._pid):
            for key, _ in self._selector.select(LOOK_SECONDS):
                if key.fileobj is self._wakes:
                    self._wakes.recv(MOST_BYTES)
                    self._tell_who_ended()
                elif key.data is not None:
                    self._selector.unregister(key.fileobj)
                    _kill(key.data)
                elif (asked := self._fork()) is not None:
                    return asked
        # The second is the lock file of environments.is_first.
        for left in (self._path, f"{self._path}.lock"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(left)
        return None

    def _fork(self) -> tuple[dict[str, Any], list[int]] | None:
        connection, _ = self._listens.accept()
        message, files, _, _ = socket.recv_fds(connection, MOST_BYTES, 3)
        while not message.endswith(b"\n"):
            more = connection.recv(MOST_BYTES)
            if not more:  # the client has asked another server instead
                connection.close()
                return None
            message += more
        asked = json.loads(message)
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._selector.close()
            for one in (self._listens, self._wakes, self._woken, connection, *self._connections.values()):
                one.close()
            return asked, files
        for file in files:
            os.close(file)
        self._connections[pid] = connection
        if asked["tied"]:
            self._selector.register(connection, selectors.EVENT_READ, pid)
        _say(connection, pid)
        return None

    def _tell_who_ended(self) -> None:
        while self._connections:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._connections.pop(pid) as connection:
                with contextlib.suppress(KeyError):
                    self._selector.unregister(connection)
                _say(connection, status)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _say(connection: socket.socket, number: int) -> None:
    try:
        connection.sendall(b"%d\n" % number)
    except OSError:
        return  # the client has closed the connection


def _exit_code(asked: Mapping[str, Any], files: Sequence[int]) -> int:
    try:
        _become(asked, files)
    except SystemExit as said:
        if said.code is None or isinstance(said.code, int):
            return said.code or 0
        print(said.code, file=sys.stderr)
        return 1
    except BaseException:  # noqa: BLE001 (Python prints them all)
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(code: int) -> None:
    """End this process as Python does, but without the finalization of modules, which takes seconds for torch."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _become(asked: Mapping[str, Any], files: Sequence[int]) -> None:
    """Become ``python WORDS`` in a fork of the server. Return when the program ends."""
    if asked["session"]:
        os.setsid()
    else:
        os.setpgrp()
    for standard, file in enumerate(files):
        os.dup2(file, standard)
        os.close(file)
    # The server's stream objects expect the server's files, and seek in them when they are reconfigured.
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    of_server = {ROOT, *_import_path()}
    others = sys.path[len(OWN) :]
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["folder"])
    _start_anew()
    sys.path[:] = [*_import_path(), *(folder for folder in others if folder not in of_server)]
    if asked["forkserver"]:
        from tests.forks import forkserver

        forkserver.reserve()
    first, *rest = asked["words"]
    if first == "-m":
        sys.argv = rest
        sys.path.insert(0, os.getcwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *rest]
        sys.path.insert(0, os.path.dirname(os.path.abspath(first)))
        runpy.run_path(first, run_name="__main__")


def _import_path() -> list[str]:
    return [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]


def _start_anew() -> None:
    """Repeat what each process does itself before or during these imports.

    These are changes of Ray, threads, seeds, and the choice of the folder for temporary files.
    """
    from tests.forks import ray_workers

    ray_workers.use_in_fork()
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1))
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()
    if tempfile := sys.modules.get("tempfile"):
        tempfile.tempdir = None  # the server's imports have chosen it by the server's TMPDIR


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    sys.path[:1] = OWN
    main(*sys.argv[1:])
