"""One server for each environment that modules were imported in, because modules read variables while imported.

Ray and TorchRL read dozens of variables while they are imported, Ray's part in C++ all that begin with ``RAY_``. A
program is forked from a server that has imported them only if that server had the same environment. Nothing is imported
here that a program could not do without: what starts a worker of Ray imports this file, too.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping

from tests.forks import server

# Where programs are forked, and until which process ends: for them and for what they start.
ENV_SOCKET = "COLLECTORFLEET_TESTS_FORKS"
ENV_OWNER = "COLLECTORFLEET_TESTS_FORKS_OWNER"
# What nearly every program imports, and what reads no variable that tests set. WSGI keeps all variables for CGI alone.
PLAIN = ("tensordict", "gymnasium", "mujoco", "requests", "wsgiref.simple_server", "collectorfleet_api.v1alpha1")
# What imports Ray or TorchRL: in each process of a fleet, and in the driver of a run.
OF_COLLECTORS = ("torchrl.collectors", "torchrl.envs", "collectorfleet.transport.ray.actor")
READING = (*OF_COLLECTORS, "ray._private.log_monitor", "collectorfleet.run.session", "collectorfleet.cli.run")
# Variables that differ between programs, and that none of the modules reads while it is imported.
IGNORED = frozenset(
    {
        *("PYTHONPATH", "PYTHONBREAKPOINT", "PYTEST_CURRENT_TEST", "PWD", "OLDPWD", "SHLVL", "_"),
        *("LD_PRELOAD", "SPT_NOENV", "RAY_RAYLET_PID", "RAY_AUTH_TOKEN_PATH", "RAY_ADDRESS"),
    }
)
OURS = "COLLECTORFLEET_"


def socket_for(path: str, env: Mapping[str, str]) -> str:
    """The socket of the server that imported Ray and TorchRL in an environment such as this one."""
    read = {name: env[name] for name in env if name not in IGNORED and not name.startswith(OURS)}
    return f"{path}-{hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()[:12]}"


def server_for(path: str, env: Mapping[str, str], owner: int) -> str:
    """The socket of the server to fork a program from: the plain one for the first program with an environment.

    An environment that only one program has is not worth the memory of a server.
    """
    at = socket_for(path, env)
    if not os.path.exists(f"{at}.lock") and is_first(f"{at}.seen"):
        return path
    return start_server_for(path, env, owner)


def start_server_for(path: str, env: Mapping[str, str], owner: int) -> str:
    """Start that server unless it was started, as a fork of the plain one at ``path``; returns its socket."""
    at = socket_for(path, env)
    if is_first(at):
        env = {name: value for name, value in env.items() if name != "PYTHONPATH"}
        words = [server.__file__, at, str(owner), *READING]
        connection = server.ask(path, words, env, os.getcwd(), [0, 1, 2], session=True, pid=owner)
        if connection is not None:
            connection.close()
    return at


def is_first(at: str) -> bool:
    """Whether nobody has asked for a server at this socket before."""
    try:
        os.close(os.open(f"{at}.lock", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
