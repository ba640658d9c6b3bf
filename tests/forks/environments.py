"""Run one server for each environment, because modules read environment variables during their import.

Ray and TorchRL read dozens of variables during their import. Ray's C++ part reads all variables that begin with
``RAY_``. A program is a fork of a server that has imported them only if both have the same environment. The script that
starts a worker of Ray imports this file, so this file imports only modules that every program needs.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping

from tests.forks import server

# Variables of each program and its children: the socket of the plain server, and the pid with which servers end.
ENV_SOCKET = "COLLECTORFLEET_TESTS_FORKS"
ENV_OWNER = "COLLECTORFLEET_TESTS_FORKS_OWNER"
# Nearly every program imports these. They read no variable that tests set. wsgiref copies all, but only for CGI.
PLAIN = ("tensordict", "gymnasium", "mujoco", "requests", "wsgiref.simple_server", "collectorfleet_api.v1alpha1")
# Modules that import Ray or TorchRL: in each process of a fleet, and also in Ray's log monitor and in drivers.
OF_COLLECTORS = ("torchrl.collectors", "torchrl.envs", "collectorfleet.transport.ray.actor")
READING = (*OF_COLLECTORS, "ray._private.log_monitor", "collectorfleet.run.session_opening", "collectorfleet.cli.run")
# Variables that differ between programs, and that none of the modules reads during its import.
IGNORED = frozenset(
    {
        *("PYTHONPATH", "PYTHONBREAKPOINT", "PYTEST_CURRENT_TEST", "PWD", "OLDPWD", "SHLVL", "_"),
        *("LD_PRELOAD", "SPT_NOENV", "RAY_RAYLET_PID", "RAY_AUTH_TOKEN_PATH", "RAY_ADDRESS"),
    }
)
OURS = "COLLECTORFLEET_"


def socket_for(path: str, env: Mapping[str, str]) -> str:
    """Return the socket of the server that imports Ray and TorchRL in an environment like ``env``."""
    read = {name: env[name] for name in env if name not in IGNORED and not name.startswith(OURS)}
    return f"{path}-{hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()[:12]}"


def server_for(path: str, env: Mapping[str, str], owner: int) -> str:
    """Return the socket of the server from which to fork a program with the environment ``env``.

    The first program with an environment is a fork of the plain server at ``path``. The second program starts the
    server of the environment, because a server for one program is not worth its memory.
    """
    at = socket_for(path, env)
    if not os.path.exists(f"{at}.lock") and is_first(f"{at}.seen"):
        return path
    return start_server_for(path, env, owner)


def start_server_for(path: str, env: Mapping[str, str], owner: int) -> str:
    """Return the socket of the server for ``env``. If it was never started, fork it from the plain server at ``path``.

    Does not wait for the server's imports.
    """
    at = socket_for(path, env)
    if is_first(at):
        env = {name: value for name, value in env.items() if name != "PYTHONPATH"}
        words = [server.__file__, at, str(owner), *READING]
        connection = server.ask(path, words, env, os.getcwd(), [0, 1, 2], session=True, pid=owner)
        if connection is not None:
            connection.close()
    return at


def is_first(at: str) -> bool:
    """Return whether this is the first call with ``at`` in all processes. The call creates a lock file."""
    try:
        os.close(os.open(f"{at}.lock", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
