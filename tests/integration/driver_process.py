"""The real driver of a fleet on this machine: its process, a Ray head with collector slots, its own rights."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import last_lines
from tests.forks.program import Program
from tests.ports import reserve_ports
from tests.wait import eventually

from collectorfleet_api import names, ray_settings
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.lease import lease
from collectorfleet_operator.children.role import role
from collectorfleet_operator.children.role_binding import role_binding
from collectorfleet_operator.children.service_account import service_account
from collectorfleet_operator.children.timeline import timeline

WORKLOAD = ROOT / "tests/e2e"
# The driver has `ray start` join its node to the head.
LIKE_FORKS = ROOT / "tests/forks/every_process"
IMPORT_PATH = os.pathsep.join(str(path) for path in (ROOT / "crds", ROOT / "collector_image", WORKLOAD, LIKE_FORKS))


class RayHead:
    """A Ray head with token authentication and ``slots`` collector slots; driver nodes join it."""

    def __init__(self, folder: Path, slots: int) -> None:
        (port,) = reserve_ports(1)
        self.address = f"127.0.0.1:{port}"
        self.log = folder / "ray-head.log"
        token = folder / "auth_token"
        token.write_text(secrets.token_hex(32))
        self.env = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        # Short: Ray puts sockets below it.
        self._temp_dir = Path(tempfile.mkdtemp(prefix="ray-"))
        self._words = [
            *("-m", "ray.scripts.scripts", "start", "--head", "--block", f"--port={port}"),
            *(f"--num-cpus={slots}", "--num-gpus=0"),
            *(f"--resources={json.dumps({names.COLLECTOR_RESOURCE: slots})}", f"--temp-dir={self._temp_dir}"),
            *("--include-dashboard=false", "--disable-usage-stats", "--object-store-memory=200000000"),
        ]
        self._process: Program | None = None

    def start(self) -> None:
        env = {**os.environ, **self.env, **ray_settings.PRESTART, "PYTHONPATH": IMPORT_PATH, "PATH": _path()}
        with self.log.open("wb") as log:
            self._process = Program(self._words, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        eventually(self._listens, within=60, what="the Ray head listening")

    def _listens(self) -> bool:
        assert self._process
        if (code := self._process.poll()) is not None:
            pytest.fail(f"the Ray head ended with exit code {code}:\n{last_lines(self.log, 30)}")
        host, _, port = self.address.partition(":")
        with socket.socket() as probe:
            return probe.connect_ex((host, int(port))) == 0

    def stop(self) -> None:
        """End the head and the nodes that joined it, and remove its folder."""
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=10)
        eventually(self._kill_left, until=lambda left: not left, within=20, what="processes of the Ray head gone")
        shutil.rmtree(self._temp_dir, ignore_errors=True)

    def _kill_left(self) -> list[int]:
        left = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and self._is_ours(p)]
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return left

    def _is_ours(self, process: Path) -> bool:
        try:
            words = (process / "cmdline").read_text()
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        return state != "Z" and f"{self._temp_dir}/" in words


class Driver:
    """One driver process, under a pod's name."""

    def __init__(self, pod: str, fleet: Object, kubeconfig: Path, ray: RayHead | str, folder: Path) -> None:
        self.log = folder / f"{pod}.log"
        address = ray if isinstance(ray, str) else ray.address
        self._env = {
            **os.environ,
            **({} if isinstance(ray, str) else ray.env),
            "PATH": _path(),
            "PYTHONPATH": IMPORT_PATH,
            "KUBECONFIG": str(kubeconfig),
            names.ENV_NAMESPACE: fleet["metadata"]["namespace"],
            names.ENV_NAME: fleet["metadata"]["name"],
            names.ENV_UID: fleet["metadata"]["uid"],
            names.ENV_POD: pod,
            names.ENV_RAY_ADDRESS: address,
            names.ENV_SPEC: str(_spec_file(fleet, folder)),
        }
        self._process: Program | None = None

    def start(self, **env: str) -> None:
        with self.log.open("wb") as log:
            self._process = Program(
                ["-m", "collectorfleet.cli", "drive"],
                env=self._env | env,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def send(self, number: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(number)

    def exit_code(self, within: float = 60) -> int:
        """Block until the driver ends."""
        assert self._process
        try:
            return self._process.wait(timeout=within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the driver still runs after {within:g} s:\n{last_lines(self.log, 30)}") from None

    def end(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait(timeout=10)

    def says(self, pattern: str) -> list[str]:
        return re.findall(pattern, self.log.read_text()) if self.log.exists() else []


@contextlib.contextmanager
def drivers(plane: ControlPlane, fleet: Object, ray: RayHead | str, folder: Path) -> Iterator[Mapping[str, Driver]]:
    """Drivers by pod name, made when asked for, ended at the end."""
    config = kubeconfig(plane, fleet, folder)
    made: dict[str, Driver] = {}

    class Made(dict[str, Driver]):
        def __missing__(self, pod: str) -> Driver:
            made[pod] = Driver(pod, fleet, config, ray, folder)
            self[pod] = made[pod]
            return made[pod]

    try:
        yield Made()
    finally:
        for driver in made.values():
            driver.end()


def kubeconfig(plane: ControlPlane, fleet: Object, folder: Path) -> Path:
    """A kubeconfig with the rights that the operator gives the fleet's driver, and what it makes for it to fill."""
    stored = CollectorFleet.parse_stored(fleet)
    namespace = fleet["metadata"]["namespace"]
    plane.apply([make(stored) for make in (service_account, role, role_binding, lease, timeline)])
    token = plane.kubectl("create", "token", names.driver_name(stored.metadata.name), "-n", namespace).strip()
    config: Object = json.loads(plane.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
    config["users"][0]["user"] = {"token": token}
    path = folder / "driver.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    return path


def _spec_file(fleet: Object, folder: Path) -> Path:
    """Where its pod has the spec that it was started with."""
    path = folder / names.SPEC_FILE
    path.write_text(json.dumps(fleet["spec"]))
    return path


def _path() -> str:
    """`ray` of this Python's environment comes first."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
