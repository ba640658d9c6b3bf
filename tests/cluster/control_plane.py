"""Run a real API server on loopback, with garbage collection, Jobs and optionally KubeRay, but without nodes.

All components are plain processes of this user, with free ports and one work folder. Pods are never scheduled: a test
that needs a running pod writes the pod's status.
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

    ``start()`` and ``stop()`` act on all components; ``start(name)`` and ``kill(name)`` act on one component. A
    restarted component keeps its ports and its data.

    Args:
        folder: the folder for credentials, data and logs.
        kuberay: False leaves out KubeRay and its CRDs; ``install_kuberay()`` adds both later.
        kuberay_env: environment variables of KubeRay.
        controllers: False runs only etcd and the API server, so no controller creates or deletes objects.
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
        """Start all components, or one, and block until they are ready.

        ComponentError if a component ends early or is not ready within 120 s.
        """
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
        """End all processes, and block until they have ended. The folder with logs and data stays."""
        for component in reversed(self._components.values()):
            component.stop()

    def kill(self, component: str) -> None:
        """End one component with SIGKILL, as a crash does."""
        self._components[component].kill()

    def pid(self, component: str) -> int:
        """Return the process id of a component."""
        return self._components[component].pid

    def install_kuberay(self) -> None:
        """Apply KubeRay's CRDs, and then start KubeRay. KubeRay gives up if the API server does not serve its kinds."""
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
        # Tests cannot create pods before the controller manager has created this account.
        eventually(
            lambda: self.find("serviceaccount/default", "default"), within=30, what="the default service account"
        )


def missing() -> str | None:
    """Return why a control plane cannot start here, in one line with the remedy; None if it can."""
    return binaries.missing((binaries.ETCD, binaries.KUBERNETES, binaries.KUBERAY))
