"""Ray's workers as forks of one process that has imported torch: an actor is there in 0.3 s and not after 5.

Ray starts each worker by a script that it calls the worker's set-up; :func:`use` puts this file in its place. Of the
workers of one Ray the first becomes the one that the others are forked from: it imports what every collector imports,
and ends with its raylet. A worker is otherwise what Ray's own set-up makes of it: a process with the environment,
folder, files and arguments that the raylet gave, in a process group of its own, that runs Ray's own program.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import socket
import sys
import time

FOR_RAYS_SET_UP = ("--serialized-runtime-env-context=", "--language=")


def use() -> None:
    """From now on, for each Ray that this process starts."""
    from ray._private import ray_constants

    ray_constants.SETUP_WORKER_FILENAME = __file__  # joined to the folder of Ray's own, of which nothing is left then


def main(words: list[str]) -> None:
    temp = next(word.removeprefix("--temp-dir=") for word in words if word.startswith("--temp-dir="))
    at = f"{temp}/forks"
    if _is_first(at) and not os.fork():
        os.setsid()
        _fork_for_all(at)
    else:
        _ask(at, [word for word in words if not word.startswith(FOR_RAYS_SET_UP)])


def _is_first(at: str) -> bool:
    try:
        os.close(os.open(f"{at}.lock", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _ask(at: str, argv: list[str]) -> None:
    asks = socket.socket(socket.AF_UNIX)
    while asks.connect_ex(at):  # it still imports
        if not _is_alive(int(os.environ["RAY_RAYLET_PID"])):
            return
        time.sleep(0.02)
    worker = {"argv": argv, "env": dict(os.environ), "cwd": os.getcwd()}
    socket.send_fds(asks, [json.dumps(worker).encode()], [0, 1, 2])


def _fork_for_all(at: str) -> None:
    import torchrl.collectors
    import torchrl.envs  # noqa: F401 (imported for those that are forked)

    gc.collect()
    gc.freeze()  # no page is copied because a collection looked at it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listens = socket.socket(socket.AF_UNIX)
    listens.settimeout(1.0)
    listens.bind(f"{at}.new")
    listens.listen(64)
    os.rename(f"{at}.new", at)
    raylet = int(os.environ["RAY_RAYLET_PID"])
    while _is_alive(raylet):
        try:
            asks, _ = listens.accept()
        except TimeoutError:
            continue
        message, files, _, _ = socket.recv_fds(asks, 2**20, 3)
        while more := asks.recv(2**20):
            message += more
        asks.close()
        if not os.fork():
            listens.close()
            _become(files, **json.loads(message))
            return
        for file in files:
            os.close(file)


def _become(files: list[int], argv: list[str], env: dict[str, str], cwd: str) -> None:
    os.setpgrp()  # the raylet ends a dead worker's whole group
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for standard, file in enumerate(files):
        os.dup2(file, standard)
        os.close(file)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = argv
    runpy.run_path(argv[0], run_name="__main__")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
