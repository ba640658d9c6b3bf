"""Define the configuration files and command lines of one node, as data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster import binaries
from tests.cluster.network import Network, run
from tests.cluster.pki import ADMIN, PROXY, Pki, node_user
from tests.cluster.process import Command

PAUSE_IMAGE = "collectorfleet.test/pause:1"
KUBELET_HEALTH = 10248
CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))


@dataclass(frozen=True)
class NodeConfig:
    """The configuration of one node: its number in the cluster, its network, and the folder for all of its files."""

    number: int
    network: Network
    folder: Path
    pki: Pki
    binds: dict[Path, Path]  # path in each container of the default runtime (read-only) -> path on the machine

    @property
    def name(self) -> str:
        return f"node{self.number}"

    @property
    def address(self) -> str:
        return self.network.node(self.number)

    @property
    def cgroup(self) -> str:
        return cgroup(self.network.index, self.name)

    @property
    def etc(self) -> Path:
        return self.folder / "etc"

    def write(self) -> None:
        """Write all files below ``etc``."""
        for path, text in self._files():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def _files(self) -> Iterator[tuple[Path, str]]:
        yield self.etc / "cni/10-pods.conflist", json.dumps(self._cni())
        yield self.etc / "containerd.toml", self._containerd()
        yield self.etc / "machine-spec.json", json.dumps(self._container_spec())
        # The kubelet's health server takes the place of every registry. It answers 404, as a registry without the image
        # does. So an image that is not loaded fails at once with "not found".
        yield self._hosts("_default"), _host(f"{self.address}:{KUBELET_HEALTH}")
        yield self.etc / "resolv.conf", f"nameserver {self.address}\n"
        yield self.etc / "kubelet.yaml", json.dumps(self._kubelet())
        yield self.etc / "proxy.yaml", json.dumps(self._proxy())
        yield self.etc / "Corefile", self._dns()

    def let_pull_from(self, registry: str) -> None:
        """Let containerd pull from the registry at this host and port over plain HTTP.

        containerd reads the file at every pull, so the change is effective at once.
        """
        path = self._hosts(registry)
        path.parent.mkdir(exist_ok=True)
        path.write_text(_host(registry))

    def _hosts(self, registry: str) -> Path:
        return self.etc / "registries" / registry / "hosts.toml"

    def commands(self) -> tuple[Command, ...]:
        """Return the commands that run on the node, in the order in which they start."""
        kubernetes = binaries.build(binaries.KUBERNETES)
        return (
            Command(
                "containerd",
                ("containerd", "--config", self.etc / "containerd.toml"),
                f"http://{self.address}:1338/v1/metrics",
            ),
            Command(
                "coredns",
                (binaries.build(binaries.COREDNS) / "coredns", "-conf", self.etc / "Corefile"),
                f"http://{self.address}:8181/ready",
            ),
            Command(
                "kubelet",
                (
                    kubernetes / "kubelet",
                    f"--config={self.etc}/kubelet.yaml",
                    f"--kubeconfig={self.pki.kubeconfig(node_user(self.name))}",
                    f"--hostname-override={self.name}",
                    f"--node-ip={self.address}",
                ),
                f"http://{self.address}:{KUBELET_HEALTH}/healthz",
            ),
            Command(
                "kube-proxy",
                (kubernetes / "kube-proxy", f"--config={self.etc}/proxy.yaml"),
                f"http://{self.address}:10256/healthz",
            ),
        )

    def _cni(self) -> dict[str, Any]:
        # With the plugin ptp, the node routes every packet, so services also work between pods of one node.
        pods = {
            "type": "ptp",
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": self.network.pods_of(self.number)}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }
        return {"cniVersion": "0.4.0", "name": "pods", "plugins": [pods]}

    def _containerd(self) -> str:
        cri = 'plugins."io.containerd.grpc.v1.cri"'
        cni = next((folder for folder in CNI_FOLDERS if (folder / "ptp").exists()), CNI_FOLDERS[0])
        return f"""version = 2
root = "{self.folder}/containerd"
state = "/run/containerd/state"
[grpc]
  address = "/run/containerd/containerd.sock"
[metrics]
  address = "{self.address}:1338"
[plugins."io.containerd.internal.v1.opt"]
  path = "{self.folder}/opt"
[{cri}]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  enable_unprivileged_ports = true
[{cri}.registry]
  config_path = "{self.etc}/registries"
[{cri}.containerd]
  snapshotter = "{self._snapshotter()}"
  default_runtime_name = "machine"
[{cri}.containerd.runtimes.image]
  runtime_type = "io.containerd.runc.v2"
[{cri}.containerd.runtimes.machine]
  runtime_type = "io.containerd.runc.v2"
  base_runtime_spec = "{self.etc}/machine-spec.json"
[{cri}.cni]
  bin_dir = "{cni}"
  conf_dir = "{self.etc}/cni"
"""

    def _snapshotter(self) -> str:
        # overlayfs does not work on top of overlayfs, the usual file system of a folder in a container.
        below = run("findmnt", "--noheadings", "--output", "FSTYPE", "--target", str(self.folder))
        return "native" if below == "overlay" else "overlayfs"

    def _container_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = json.loads(run("ctr", "oci", "spec"))
        spec["mounts"] += [
            {"destination": str(there), "source": str(here), "type": "bind", "options": ["rbind", "ro"]}
            for there, here in self.binds.items()
        ]
        return spec

    def _kubelet(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self.address,
            "healthzBindAddress": self.address,
            "healthzPort": KUBELET_HEALTH,
            "readOnlyPort": 0,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(self.pki.ca)},
            },
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self.cgroup}",
            "failSwapOn": False,
            "oomScoreAdj": 0,
            "makeIPTablesUtilChains": False,
            "clusterDNS": [self.address],
            "clusterDomain": "cluster.local",
            "resolvConf": str(self.etc / "resolv.conf"),
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "volumePluginDir": str(self.folder / "volume-plugins"),
            # Nodes share the machine with other programs. The kubelet counts their page cache as used memory, and would
            # evict pods. The operator requests little memory, so it would be the first.
            "imageGCHighThresholdPercent": 100,
            "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
        }

    def _proxy(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "bindAddress": self.address,
            "healthzBindAddress": f"{self.address}:10256",
            "metricsBindAddress": f"{self.address}:10249",
            "clusterCIDR": str(self.network.pods),
            "mode": "nftables",
            "hostnameOverride": self.name,
            "clientConnection": {"kubeconfig": str(self.pki.kubeconfig(PROXY))},
            # Keep the machine's limits of connection tracking.
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpCloseWaitTimeout": "0s", "tcpEstablishedTimeout": "0s"},
            "oomScoreAdj": 0,
        }

    def _dns(self) -> str:
        return f""".:53 {{
    bind {self.address}
    errors
    ready {self.address}:8181
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {self.pki.kubeconfig(ADMIN)}
        ttl 5
    }}
    cache 5
}}
"""


def _host(registry: str) -> str:
    server = f"http://{registry}"
    return f'server = "{server}"\n[host."{server}"]\n  capabilities = ["pull", "resolve"]\n'


def cgroup(index: int, node: str) -> str:
    """Return the cgroup of one node, relative to the machine's root."""
    return f"collectorfleet-{index}-{node}"
