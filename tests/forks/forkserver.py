"""Keep a fork in reserve that becomes a program's forkserver of ``multiprocessing``.

A program that uses ``multiprocessing.forkserver`` starts another Python, which imports torch for 5 s. This Python must
be a child of the program. So the program forks the child before it runs any code of its own, and the child waits until
the program needs it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from multiprocessing import util
from typing import Any

BEGINS = "from multiprocessing.forkserver import main; main("
MOST_BYTES = 2**20


def reserve() -> None:
    """Fork a child that becomes this process's first forkserver, or ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the child ignores SIGINT
    pid = os.fork()
    if not pid:
        ours.close()
        os._exit(_exit_code(theirs, mask))
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    theirs.close()
    spawn = util.spawnv_passfds

    def begin(path: Any, args: Sequence[Any], passed: Sequence[Any]) -> int:
        if not args[-1].startswith(BEGINS):
            return spawn(path, args, passed)
        util.spawnv_passfds = spawn
        with ours:
            told = {"code": args[-1], "passed": list(passed), "folder": os.getcwd(), "env": dict(os.environ)}
            socket.send_fds(ours, [json.dumps(told).encode()], [0, 1, 2, *passed])
        return pid

    util.spawnv_passfds = begin  # type: ignore[assignment]


def _exit_code(connection: socket.socket, mask: set[signal.Signals]) -> int:
    try:
        _wait(connection, mask)
    except SystemExit:  # the usual end of a forkserver
        return 0
    except BaseException:  # noqa: BLE001 (Python prints them all)
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _wait(connection: socket.socket, mask: set[signal.Signals]) -> None:
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    message, files, _, _ = socket.recv_fds(connection, MOST_BYTES, 5)
    connection.close()
    if not message:
        return
    signal.signal(signal.SIGINT, interrupted)
    told = json.loads(message)
    for standard, file in enumerate(files[:3]):
        os.dup2(file, standard)
        os.close(file)
    os.environ.clear()
    os.environ.update(told["env"])
    os.chdir(told["folder"])
    code = told["code"].replace("main({}, {}, ".format(*told["passed"]), "main({}, {}, ".format(*files[3:]))
    exec(code, {})
