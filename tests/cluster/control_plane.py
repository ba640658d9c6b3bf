"""A real API server on loopback, with garbage collection, Jobs and (if asked for) KubeRay, but without nodes.

Everything is a plain process of this user on free ports below one work folder. Pods are never scheduled: a test that
needs one running writes its status itself.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.cluster import binaries
from tests.cluster.client import Client
from tests.cluster.pki import ADMIN, CONTROLLER_MANAGER, Pki
from tests.cluster.process import Component, free_ports
from tests.wait import eventually

SERVICE_RANGE = "10.96.0.0/16"
SERVICE_IP = "10.96.0.1"
START_SECONDS = 120


class ControlPlane(Client):
    """etcd, kube-apiserver, kube-controller-manager and KubeRay (component name ``kuberay``).

    ``start()`` and ``stop()`` concern all of them, ``start(name)`` and ``kill(name)`` one; a component keeps its
    ports and its data when it is started again. ``kuberay=False`` leaves out KubeRay and its CRDs;
    ``install_kuberay()`` adds both later. ``kuberay_env`` goes into KubeRay's environment.
    """

    def __init__(self, folder: Path, *, kuberay: bool = True, kuberay_env: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._with_kuberay = kuberay
        self._kuberay_env = dict(kuberay_env or {})
        self._pki = Pki(folder / "pki")
        self._kubernetes = binaries.build(binaries.KUBERNETES)
        super().__init__(self._kubernetes / "kubectl", self._pki.kubeconfig(ADMIN), folder / "kubectl-cache")
        self._components = self._plan()

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
        crds = sorted((binaries.kuberay_config() / "crd/bases").glob("*.yaml"))
        for crd in crds:
            self.apply(crd)
        self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        self.start("kuberay")

    def _start_all(self) -> None:
        etcd, apiserver, manager = (
            self._components[name] for name in ("etcd", "kube-apiserver", "kube-controller-manager")
        )
        etcd.launch()
        apiserver.launch()
        etcd.wait_ready(START_SECONDS)
        apiserver.wait_ready(START_SECONDS)
        manager.launch()
        if self._with_kuberay:
            self.install_kuberay()
        manager.wait_ready(START_SECONDS)
        # The last thing the controller manager does before tests can create pods.
        eventually(
            lambda: self.find("serviceaccount/default", "default"), within=30, what="the default service account"
        )

    def _plan(self) -> dict[str, Component]:
        client, peer, api, manager, kuberay = free_ports(5)
        pki = self._pki
        pki.write(f"https://127.0.0.1:{api}", ("127.0.0.1", SERVICE_IP), (ADMIN, CONTROLLER_MANAGER))
        kube = self._kubernetes
        return {
            component.name: component
            for component in (
                self._component(
                    "etcd",
                    f"http://127.0.0.1:{client}/health",
                    binaries.build(binaries.ETCD) / "etcd",
                    f"--data-dir={self.folder}/etcd",
                    f"--listen-client-urls=http://127.0.0.1:{client}",
                    f"--advertise-client-urls=http://127.0.0.1:{client}",
                    f"--listen-peer-urls=http://127.0.0.1:{peer}",
                    f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                    f"--initial-cluster=default=http://127.0.0.1:{peer}",
                    "--unsafe-no-fsync",  # the data lives as long as the test run
                ),
                self._component(
                    "kube-apiserver",
                    f"https://127.0.0.1:{api}/readyz",
                    kube / "kube-apiserver",
                    f"--etcd-servers=http://127.0.0.1:{client}",
                    "--bind-address=127.0.0.1",
                    f"--secure-port={api}",
                    f"--tls-cert-file={pki.server_cert}",
                    f"--tls-private-key-file={pki.server_key}",
                    f"--token-auth-file={pki.tokens}",
                    f"--service-account-key-file={pki.service_account_pub}",
                    f"--service-account-signing-key-file={pki.service_account_key}",
                    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                    f"--service-cluster-ip-range={SERVICE_RANGE}",
                    "--authorization-mode=RBAC",
                    "--endpoint-reconciler-type=none",  # a loopback address is refused as an endpoint
                ),
                self._component(
                    "kube-controller-manager",
                    f"https://127.0.0.1:{manager}/healthz",
                    kube / "kube-controller-manager",
                    f"--kubeconfig={pki.kubeconfig(CONTROLLER_MANAGER)}",
                    "--bind-address=127.0.0.1",
                    f"--secure-port={manager}",
                    "--leader-elect=false",
                    "--use-service-account-credentials=true",
                    f"--service-account-private-key-file={pki.service_account_key}",
                    f"--root-ca-file={pki.ca}",
                ),
                self._component(
                    "kuberay",
                    f"http://127.0.0.1:{kuberay}/readyz",
                    binaries.build(binaries.KUBERAY) / "ray-operator",
                    f"--kubeconfig={self.kubeconfig}",
                    "-enable-leader-election=false",
                    "-use-kubernetes-proxy",
                    "-metrics-addr=0",
                    f"-health-probe-bind-address=127.0.0.1:{kuberay}",
                    env=self._kuberay_env,
                ),
            )
        }

    def _component(
        self, name: str, ready_url: str, *command: str | Path, env: Mapping[str, str] | None = None
    ) -> Component:
        return Component(name, command, log=self.folder / f"{name}.log", ready_url=ready_url, env=env)


def missing() -> str | None:
    """Why a control plane cannot be started here, in one line that says what to do; None if it can."""
    if all(binaries.is_built(tool) for tool in (binaries.ETCD, binaries.KUBERNETES, binaries.KUBERAY)):
        return None
    try:
        subprocess.run(["go", "version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return "the Kubernetes binaries are not built yet and Go is not installed; install Go 1.26 (https://go.dev/dl)"
    return None
