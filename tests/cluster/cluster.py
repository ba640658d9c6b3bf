"""Run a real Kubernetes with real nodes on one Linux machine: kubelets, containers, services and DNS. Needs root.

The control plane runs on the first node. Other machines cannot reach a cluster. After its end, only its logs remain.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.cluster import addons, binaries, cgroups, components, machine, namespaces, packages, thin_images
from tests.cluster.client import Client, Object, condition
from tests.cluster.components import SERVICE_IP, Ports
from tests.cluster.images import Image, write_archive
from tests.cluster.machine import Entry
from tests.cluster.network import Network, Switch, usable_indices
from tests.cluster.node import Node
from tests.cluster.node_config import NodeConfig, cgroup
from tests.cluster.pki import ADMIN, CONTROLLER_MANAGER, PROXY, SCHEDULER, Pki, node_user
from tests.cluster.process import Component
from tests.wait import eventually

START_SECONDS = 120


class Cluster(Client):
    """A cluster with the nodes node1, node2, and so on.

    Components are named ``etcd``, ``kube-apiserver``, ``kube-controller-manager``, ``kube-scheduler``, and on each node
    ``node1/containerd``, ``node1/coredns``, ``node1/kubelet``, ``node1/kube-proxy``.

    Args:
        folder: the folder for state and logs.
        nodes: the number of nodes.
        bound: whether the cluster ends with the thread that starts it, even if the thread is killed. Otherwise
            ``remove`` ends the cluster.
        other: a checkout of another state of the project. The cluster then also has the images of this state.
        thin: False leaves out the thin images: a pod sees its image and no files of the machine, as in other clusters.
    """

    def __init__(
        self, folder: Path, *, nodes: int = 1, bound: bool = True, other: Path | None = None, thin: bool = True
    ) -> None:
        self.folder = folder.resolve()
        self._thin = thin
        self._other = other
        self._bound = bound
        self._numbers = range(1, nodes + 1)
        self._pki = Pki(self.folder / "pki")
        self._entry: Entry | None = None
        self._switch: Switch | None = None
        self._nodes: dict[str, Node] = {}
        self._components: dict[str, Component] = {}
        kubectl = binaries.kubectl()
        super().__init__(kubectl, self._pki.kubeconfig(ADMIN), self.folder / "kubectl-cache")

    @property
    def nodes(self) -> Sequence[str]:
        return tuple(self._nodes)

    def start(self, component: str | None = None) -> None:
        """Start everything, or one component, and block until all nodes or the component are ready.

        ComponentError if a component ends early or is not ready within 120 s. AssertionError if a node is not Ready
        after that time.
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
        """End everything and restore the machine's state. Only the logs stay."""
        if self._entry is None:
            return
        remove(self._entry)
        held: list[Component | Node | Switch] = [*self._components.values(), *self._nodes.values()]
        for part in held + ([self._switch] if self._switch else []):
            part.reap()
        self._entry = None

    @property
    def ended(self) -> Sequence[Component]:
        """Return the components that do not run."""
        return [component for component in self._components.values() if not component.running]

    def kill(self, component: str) -> None:
        """End one component with SIGKILL, as a crash does."""
        self._components[component].kill()

    def kill_pod(self, name: str, namespace: str, container: str | None = None) -> None:
        """End the processes of a pod's running containers, or of one container, as a crash does. The pod stays."""
        pod = self.get(f"pod/{name}", namespace)
        node = self._nodes[pod["spec"]["nodeName"]]
        for status in pod["status"]["containerStatuses"]:
            if container in (None, status["name"]) and "running" in status["state"]:
                node.kill_container(status["containerID"].removeprefix("containerd://"))

    def lives(self, pod: Object) -> bool:
        """Return whether a container of the pod still runs on its node. ``pod`` may be an object deleted since."""
        node = self._nodes[pod["spec"]["nodeName"]]
        ids = (one["containerID"].removeprefix("containerd://") for one in pod["status"]["containerStatuses"])
        return any(map(node.runs_container, ids))

    def log(self, pod: Object, container: str) -> str:
        """Return the output of the first run of a container so far. This also works without an API server."""
        return self._nodes[pod["spec"]["nodeName"]].log(pod, container)

    def cut(self, node: str) -> None:
        """Unplug a node from the network. The control plane notices after 40 to 50 s.

        The control plane runs on node1, so ``cut("node1")`` makes it unreachable.
        """
        self._plugged.cut(self._nodes[node].config.number)

    def heal(self, node: str) -> None:
        """Plug a node into the network again."""
        self._plugged.heal(self._nodes[node].config.number)

    def add_gpus(self, node: str, count: int, resource: str = "nvidia.com/gpu") -> None:
        """Let a node offer ``count`` of a resource without devices. Block until pods can request it, at most 90 s."""
        path = f"/status/capacity/{resource.replace('/', '~1')}"
        patch = f'[{{"op": "add", "path": "{path}", "value": "{count}"}}]'
        self.kubectl("patch", "node", node, "--subresource=status", "--type=json", f"--patch={patch}")
        self.wait_for(f"node/{node}", lambda n: n["status"]["allocatable"].get(resource) == str(count), within=90)

    def let_pull_from(self, registry: str) -> None:
        """Let nodes pull images named ``registry/...`` from the registry at that host and port, over plain HTTP."""
        for node in self._nodes.values():
            node.config.let_pull_from(registry)

    @property
    def machine(self) -> str:
        """Return the address at which nodes and pods reach this machine. Other machines cannot use it."""
        return next(iter(self._nodes.values())).config.network.machine

    def load(self, *images: Image) -> None:
        """Load images on every node, under all their names."""
        archive = self.folder / "images.tar"
        write_archive(images, archive)
        self.load_archive(archive)
        archive.unlink()

    def load_archive(self, archive: Path) -> None:
        """Load the images of an OCI or Docker archive on every node."""
        for node in self._nodes.values():
            node.load(archive)

    def install_kuberay(self, env: Mapping[str, str] | None = None) -> None:
        """Run KubeRay as a pod with its own manifests and the environment variables ``env``.

        Blocks until KubeRay is available.
        """
        self.load(thin_images.kuberay())
        addons.install_kuberay(self, env or {})

    def _start_all(self) -> None:
        packages.install(packages.CLUSTER)
        sweep()
        self._create_nodes()
        self._plan()
        self._launch("etcd", "kube-apiserver", *self._on_nodes("containerd"))
        self._await("etcd", *self._on_nodes("containerd"))
        own = (thin_images.collector(), thin_images.operator()) if self._thin else ()
        others = thin_images.others() if self._other else ()
        self.load(thin_images.pause(), *own, *others)
        self._await("kube-apiserver")
        self._launch("kube-controller-manager", "kube-scheduler", *self._on_nodes("kubelet", "kube-proxy", "coredns"))
        self._await(*self._components)
        eventually(self._all_ready, within=START_SECONDS, what="all nodes Ready")
        self.apply(addons.RUNTIME_CLASS)
        eventually(lambda: self.find("serviceaccount/default", "default"), within=30, what="the default account")

    def _create_nodes(self) -> None:
        entry = machine.claim(self.folder, bound=self._bound, usable=usable_indices(machine.CLUSTERS))
        self._entry = entry
        logs = self.folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        network = Network(entry.index)
        self._switch = Switch(network, logs / "switch.log", bound=self._bound)
        entry.hold("switch", self._switch.holder)
        self._switch.connect_machine(self._numbers)
        binds = thin_images.binds(self._other) if self._thin else {}
        for number in self._numbers:
            name = f"node{number}"
            config = NodeConfig(number, network, self.folder / "nodes" / name, self._pki, binds)
            self._nodes[name] = Node(config, logs, bound=self._bound)
            entry.hold(name, self._nodes[name].holder)
            self._nodes[name].plug_in(self._switch, self._numbers)
        address = network.node(1)
        users = (ADMIN, CONTROLLER_MANAGER, SCHEDULER, PROXY, *map(node_user, self._nodes))
        self._pki.write(f"https://{address}:{Ports().apiserver}", (address, SERVICE_IP), users)

    @property
    def _plugged(self) -> Switch:
        if self._switch is None:
            raise RuntimeError("the cluster is not started")
        return self._switch

    def _plan(self) -> None:
        first, *_ = self._nodes.values()
        address, ports = first.config.address, Ports()
        for command in (
            components.etcd(first.config.folder, address, ports),
            components.apiserver(self._pki, address, ports),
            components.controller_manager(self._pki, address, ports),
            components.scheduler(self._pki, address, ports),
        ):
            self._components[command.name] = first.component(command)
        for name, node in self._nodes.items():
            for command in node.config.commands():
                self._components[f"{name}/{command.name}"] = node.component(command)

    def _on_nodes(self, *names: str) -> list[str]:
        return [f"{node}/{name}" for node in self._nodes for name in names]

    def _launch(self, *names: str) -> None:
        for name in names:
            self._components[name].launch()

    def _await(self, *names: str) -> None:
        for name in names:
            self._components[name].wait_ready(START_SECONDS)

    def _all_ready(self) -> bool:
        nodes = self.items("nodes")
        return len(nodes) == len(self._numbers) and all(map(_ready, nodes))


@contextlib.contextmanager
def with_kuberay(folder: Path, *, other: Path | None = None, thin: bool = True) -> Iterator[Cluster]:
    """Run a cluster of one node with KubeRay until the end of the block. Tests install the operator that they need."""
    made = Cluster(folder, other=other, thin=thin)
    made.start()
    try:
        made.install_kuberay()
        yield made
    finally:
        made.stop()


def remove(entry: Entry) -> None:
    """End a cluster, also if another process started it, and restore everything that it changed on the machine."""
    for holder in entry.holders.values():
        namespaces.end(holder)
    for group in (cgroup(entry.index, name) for name in entry.holders):
        eventually(functools.partial(cgroups.remove, group), within=30, what=f"cgroup {group} gone")
    eventually(lambda: not Network(entry.index).plugged_in, within=30, what="the link to the cluster gone")
    for rest in ("nodes", "pki", "kubectl-cache"):
        shutil.rmtree(entry.folder / rest, ignore_errors=True)
    machine.release(entry)


def _ready(node: Object) -> bool:
    return (condition(node, "Ready") or {}).get("status") == "True"


def missing() -> str | None:
    """Return why a cluster cannot start here, in one line with the remedy; None if it can."""
    return packages.reason(packages.CLUSTER) or binaries.missing(binaries.TOOLS)


def sweep() -> None:
    """Remove the clusters whose owners died before they removed them."""
    for entry in list(machine.entries()):
        if entry.orphaned:
            remove(entry)
