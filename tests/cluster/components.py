"""Define the command lines of a Kubernetes control plane, as data. Other modules start them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from ipaddress import ip_address
from pathlib import Path

from tests.cluster import binaries
from tests.cluster.pki import ADMIN, CONTROLLER_MANAGER, SCHEDULER, Pki
from tests.cluster.process import Command
from tests.ports import reserve_ports

SERVICE_RANGE = "10.96.0.0/16"
SERVICE_IP = "10.96.0.1"


@dataclass(frozen=True)
class Ports:
    """The ports of the control plane. The defaults are the usual ports, for use in a network namespace of its own."""

    etcd: int = 2379
    etcd_peer: int = 2380
    etcd_health: int = 2381
    apiserver: int = 6443
    controller_manager: int = 10257
    scheduler: int = 10259
    kuberay: int = 8082

    @classmethod
    def free(cls) -> Ports:
        """Return free ports, which are reserved until this process ends. RuntimeError if too few are free."""
        return cls(*reserve_ports(len(fields(cls))))


def etcd(folder: Path, address: str, ports: Ports) -> Command:
    # etcd requires no credentials, so only loopback reaches it. Its health page is visible from outside.
    client, peer = f"http://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.etcd_peer}"
    return Command(
        "etcd",
        (
            binaries.build(binaries.ETCD) / "etcd",
            f"--data-dir={folder}/etcd",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            f"--listen-metrics-urls=http://{address}:{ports.etcd_health}",
            "--unsafe-no-fsync",  # the data is not needed after the test run
        ),
        f"http://{address}:{ports.etcd_health}/health",
    )


def apiserver(pki: Pki, address: str, ports: Ports) -> Command:
    # The API server refuses a loopback address as endpoint of the service `kubernetes`. Without nodes, no pod needs it.
    reconciler = "none" if ip_address(address).is_loopback else "lease"
    return Command(
        "kube-apiserver",
        (
            binaries.build(binaries.KUBERNETES) / "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{ports.etcd}",
            f"--bind-address={address}",
            f"--secure-port={ports.apiserver}",
            f"--endpoint-reconciler-type={reconciler}",
            f"--tls-cert-file={pki.server_cert}",
            f"--tls-private-key-file={pki.server_key}",
            f"--client-ca-file={pki.ca}",
            f"--token-auth-file={pki.tokens}",
            f"--kubelet-client-certificate={pki.kubelet_client_cert}",
            f"--kubelet-client-key={pki.kubelet_client_key}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-account-key-file={pki.service_account_pub}",
            f"--service-account-signing-key-file={pki.service_account_key}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
        ),
        f"https://{address}:{ports.apiserver}/readyz",
    )


def controller_manager(pki: Pki, address: str, ports: Ports) -> Command:
    return Command(
        "kube-controller-manager",
        (
            binaries.build(binaries.KUBERNETES) / "kube-controller-manager",
            f"--kubeconfig={pki.kubeconfig(CONTROLLER_MANAGER)}",
            f"--bind-address={address}",
            f"--secure-port={ports.controller_manager}",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            "--horizontal-pod-autoscaler-sync-period=2s",  # the default of 15 s would slow down tests
            f"--service-account-private-key-file={pki.service_account_key}",
            f"--root-ca-file={pki.ca}",
        ),
        f"https://{address}:{ports.controller_manager}/healthz",
    )


def scheduler(pki: Pki, address: str, ports: Ports) -> Command:
    return Command(
        "kube-scheduler",
        (
            binaries.build(binaries.KUBERNETES) / "kube-scheduler",
            f"--kubeconfig={pki.kubeconfig(SCHEDULER)}",
            f"--bind-address={address}",
            f"--secure-port={ports.scheduler}",
            "--leader-elect=false",
        ),
        f"https://{address}:{ports.scheduler}/healthz",
    )


def kuberay(pki: Pki, address: str, ports: Ports, env: Mapping[str, str]) -> Command:
    """Return KubeRay's command outside of the cluster. It reaches Ray's dashboards through the API server."""
    return Command(
        "kuberay",
        (
            binaries.build(binaries.KUBERAY) / "ray-operator",
            f"--kubeconfig={pki.kubeconfig(ADMIN)}",
            "-enable-leader-election=false",
            "-use-kubernetes-proxy",
            "-metrics-addr=0",
            f"-health-probe-bind-address={address}:{ports.kuberay}",
        ),
        f"http://{address}:{ports.kuberay}/readyz",
        env,
    )
