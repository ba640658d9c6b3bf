"""A real API server on loopback, with garbage collection, Jobs and (if asked for) KubeRay, but without nodes.

Everything is a plain process of this user on free ports below one work folder. Pods are never scheduled: a test that
needs one running writes its status itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.cluster import binaries, components, kuberay_crds
from tests.cluster.client import Client
from tests.cluster.components import SERVICE_IP, Ports
from tests.cluster.pki import ADMIN, CONTROLLER_MANAGER, Pki
from tests.cluster.process import Component
from tests.wait import eventually

START_SECONDS = 120
LOOPBACK = "127.0.0.1"


class ControlPlane(Client):
    """etcd, kube-apiserver, kube-controller-manager and KubeRay (component name ``kuberay``).

    ``start()`` and ``stop()`` concern all of them, ``start(name)`` and ``kill(name)`` one; a component keeps its
    ports and its data when it is started again. ``kuberay=False`` leaves out KubeRay and its CRDs;
    ``install_kuberay()`` adds both later. ``kuberay_env`` goes into KubeRay's environment. ``controllers=False`` is
    etcd and the API server alone: nothing is made or collected but by who asks.
    """

    def __init__(
        self,
        folder: Path,
        *,
        kuberay: bool = True,
        kuberay_env: Mapping[str, str] | None = None,
        controllers: bool = True,
    ) -> None:
        ports = Ports.free()
        pki = self.pki = Pki(folder / "pki")
        pki.write(f"https://{LOOPBACK}:{ports.apiserver}", (LOOPBACK, SERVICE_IP), (ADMIN, CONTROLLER_MANAGER))
        commands = (
            components.etcd(folder, LOOPBACK, ports),
            components.apiserver(pki, LOOPBACK, ports),
            components.controller_manager(pki, LOOPBACK, ports),
            components.kuberay(pki, LOOPBACK, ports, kuberay_env or {}),
        )
        self._components = {c.name: Component(c, folder / f"{c.name}.log") for c in commands}
        self._with_kuberay, self._with_controllers = kuberay, controllers
        kubectl = binaries.kubectl()
        super().__init__(kubectl, pki.kubeconfig(ADMIN), folder / "kubectl-cache")

    def start(self, component: str | None = None) -> None:
        """Start everything, or one component, and block until it is ready; ComponentError if it does not get there."""
        if component:
            self._components[component].launch()
            self._components[component].wait_ready(START_SECONDS)
            return
        try:
            self._start_all()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every process; the folder with logs and data stays."""
        for component in reversed(self._components.values()):
            component.stop()

    def kill(self, component: str) -> None:
        """End one component as a crash would."""
        self._components[component].kill()

    def install_kuberay(self) -> None:
        """Apply KubeRay's CRDs and start it once they are served; it gives up on a kind it cannot list."""
        kuberay_crds.install(self)
        self.start("kuberay")

    def _start_all(self) -> None:
        for name in ("etcd", "kube-apiserver"):
            self._components[name].launch()
        for name in ("etcd", "kube-apiserver"):
            self._components[name].wait_ready(START_SECONDS)
        if not self._with_controllers:
            return
        self._components["kube-controller-manager"].launch()
        if self._with_kuberay:
            self.install_kuberay()
        self._components["kube-controller-manager"].wait_ready(START_SECONDS)
        # The last thing the controller manager does before tests can create pods.
        eventually(
            lambda: self.find("serviceaccount/default", "default"), within=30, what="the default service account"
        )


def missing() -> str | None:
    """Why a control plane cannot be started here, in one line that says what to do; None if it can."""
    return binaries.missing((binaries.ETCD, binaries.KUBERNETES, binaries.KUBERAY))
