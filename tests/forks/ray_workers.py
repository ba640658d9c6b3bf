"""Fork Ray's workers from a process that has imported TorchRL. An actor then starts in 0.3 s instead of 5 s.

Ray starts each worker by a script, the worker's set-up. This file replaces the script in a process that calls
:func:`use`, and in each program that is a fork. The first worker of a raylet starts a server, which imports the modules
that every collector imports and ends with the raylet. The server forks all workers of the raylet. Each raylet needs its
own server, because Ray reads the raylet's pid during its import. Otherwise a worker is the same as with Ray's set-up.
It has the environment, folder, files and arguments from the raylet and its own process group, and runs Ray's program.

Ray's log monitor is a fork, too (:mod:`.ray_services`). The agent for runtime environments beside each raylet is not a
fork, because a forked agent did not end with a killed raylet. Ray's dashboard, its agents and the monitor of the
autoscaler do not run, because each needs seconds of CPU time. Only the Ray that tests share has the agents.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

CONSTANTS, NODE, SERVICES = "ray._private.ray_constants", "ray._private.node", "ray._private.services"
FOR_RAYS_SET_UP = ("--serialized-runtime-env-context=", "--language=")
HERE = os.path.dirname(os.path.abspath(__file__))
SERVICE = os.path.join(HERE, "ray_services.py")
NO_DASHBOARD_AGENT = os.path.join(HERE, "no_dashboard_agent.py")
DASHBOARD_AGENT = "--dashboard_agent_command="
# With this variable, Ray has its own dashboard agents, from which the product reads how much a node has spilled.
ENV_WITH_DASHBOARD_AGENT = "COLLECTORFLEET_TESTS_DASHBOARD_AGENT"


def use() -> None:
    """Fork the workers of each Ray that this process starts from now on."""
    importlib.import_module(NODE)

    from tests.forks.program import environment

    os.environ.update(environment())
    use_in_fork()


def use_in_fork() -> None:
    """Change Ray for :func:`use` in this process: now if Ray is imported, otherwise during its import.

    So a fork can set the variables that Ray reads during its import.
    """
    changes = {CONSTANTS: _replace, NODE: _leave_out, SERVICES: _start_less}
    for name in [name for name in changes if name in sys.modules]:
        changes.pop(name)(sys.modules[name])
    if changes:
        sys.meta_path.insert(0, _AtImport(changes))


def _replace(constants: Any) -> None:
    constants.SETUP_WORKER_FILENAME = __file__  # Ray joins this to its own folder, and an absolute path replaces it


def _start_less(services: Any) -> None:
    if services.start_ray_process.__module__ == __name__:
        return  # the process that forked this one has done this

    def start(command: list[str], *arguments: Any, **options: Any) -> Any:
        if command[2:3] and command[2].endswith("log_monitor.py"):
            command = [sys.executable, "-S", SERVICE, *command[2:]]
        if ENV_WITH_DASHBOARD_AGENT not in os.environ:
            command = [_without_agent(word) if word.startswith(DASHBOARD_AGENT) else word for word in command]
        return starts(command, *arguments, **options)

    starts, services.start_ray_process = services.start_ray_process, start


def _without_agent(word: str) -> str:
    words = shlex.split(word.removeprefix(DASHBOARD_AGENT))
    instead = [sys.executable, "-S", NO_DASHBOARD_AGENT, _option(words, "session-dir"), _option(words, "node-id")]
    return DASHBOARD_AGENT + shlex.join(map(str, instead))


def _leave_out(node: Any) -> None:
    def no_dashboard(self: Any, **_: object) -> None:
        self._webui_url = None

    node.Node.start_api_server = no_dashboard
    node.Node.start_monitor = lambda _: None


class _AtImport:
    def __init__(self, changes: dict[str, Callable[[ModuleType], None]]) -> None:
        self._changes = changes

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name not in self._changes:
            return None
        change = self._changes.pop(name)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        executes = spec.loader.exec_module

        def execute(module: ModuleType) -> None:
            executes(module)
            change(module)

        spec.loader.exec_module = execute  # type: ignore[method-assign]
        return spec


def main(words: list[str]) -> None:
    """Let the raylet's server fork a worker with the arguments of Ray's set-up. The first worker starts the server."""
    from tests.forks import environments, server

    argv = [word for word in words if not word.startswith(FOR_RAYS_SET_UP)]
    env = os.environ | _of_runtime_env(words)
    temp = _option(words, "temp-dir")
    if temp is None:  # the server of Ray's client, not a worker
        os.execve(sys.executable, [sys.executable, *argv], env)
    # The name has the raylet's pid, because each raylet has a server and several Rays may have the same folder.
    raylet, folder = os.environ["RAY_RAYLET_PID"], os.getcwd()
    at = f"{temp}/forks-{raylet}-{_option(words, 'session-name')}"
    if environments.is_first(at):
        forks, owner = os.environ[environments.ENV_SOCKET], int(os.environ[environments.ENV_OWNER])
        made = [server.__file__, at, raylet, *environments.OF_COLLECTORS]
        server.ask(forks, made, os.environ, folder, [0, 1, 2], session=True, pid=owner)
    server.ask(at, argv, env, folder, [0, 1, 2], session=False, pid=int(raylet))


def _of_runtime_env(words: list[str]) -> dict[str, str]:
    variables: dict[str, str] = json.loads(_option(words, "serialized-runtime-env-context") or "{}").get("env_vars", {})
    return variables


def _option(words: list[str], name: str) -> str | None:
    return next((word.partition("=")[2] for word in words if word.startswith(f"--{name}=")), None)


if __name__ == "__main__":
    sys.path[0] = os.path.abspath(f"{os.path.dirname(os.path.abspath(__file__))}/../..")
    main(sys.argv[1:])
