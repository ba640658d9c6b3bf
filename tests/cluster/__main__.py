"""Start a Kubernetes cluster to try CollectorFleet on (``up``), or end it and clean up (``down``).

The cluster outlives the command. KubeRay and the operator run as pods. The operator runs the sources of this working
copy: after you change them, delete its pod. With ``--without-operator``, you install the operator, such as by Helm.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence

from tests.cluster import addons, binaries, machine, storage
from tests.cluster import cluster as clusters
from tests.cluster.binaries import ROOT
from tests.cluster.cluster import Cluster

FOLDER = ROOT / ".cluster"


def up(nodes: int, gpus: int, kuberay_env: dict[str, str], *, operator: bool) -> None:
    """Start the cluster and print the commands to use it. Blocks until everything runs; needs root."""
    if reason := clusters.missing():
        sys.exit(f"no cluster: {reason}")
    if _entry() is not None:
        sys.exit(f"a cluster runs already (state in {FOLDER}); end it with: make cluster-down")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    started = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - started:4.0f} s  {what}", file=sys.stderr, flush=True)

    cluster = Cluster(FOLDER, nodes=nodes, bound=False)
    try:
        cluster.start()
        say(f"{nodes} node(s) Ready")
        for node in cluster.nodes if gpus else ():
            cluster.add_gpus(node, gpus)
        storage.add(cluster, FOLDER / "volumes")
        cluster.install_kuberay(kuberay_env)
        say("KubeRay runs")
        if operator:
            addons.install_operator(cluster)
            say("the operator runs")
    except BaseException:
        cluster.stop()
        raise
    print(_instructions(cluster, operator=operator))


def down() -> None:
    """End the cluster with its volumes, and the clusters that killed test runs left."""
    clusters.sweep()
    if entry := _entry():
        clusters.remove(entry)
    shutil.rmtree(FOLDER, ignore_errors=True)


def _entry() -> machine.Entry | None:
    return next((entry for entry in machine.entries() if entry.folder == FOLDER.resolve()), None)


def _instructions(cluster: Cluster, *, operator: bool) -> str:
    lines = [f"export KUBECONFIG={cluster.kubeconfig}"]
    tools = {"kubectl": binaries.KUBERNETES} | ({} if operator else {"helm": binaries.HELM})
    lines += [
        f'export PATH="$PATH:{binaries.build(tool)}"' for name, tool in tools.items() if shutil.which(name) is None
    ]
    if not operator:
        lines.append(
            "helm install collectorfleet-operator charts/collectorfleet-operator --namespace collectorfleet-system "
            "--create-namespace"
        )
    lines += [
        "kubectl apply -f examples/cartpole.yaml",
        "kubectl get cfleet --watch",
        "# make cluster-down ends it",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    starting = commands.add_parser(
        "up", help="install missing Debian packages, start it, and print the KUBECONFIG line"
    )
    starting.add_argument("--nodes", type=int, default=1)
    starting.add_argument("--gpus", type=int, default=0, help="nvidia.com/gpu that each node offers, in name only")
    starting.add_argument(
        "--kuberay-env", nargs="*", default=[], metavar="NAME=VALUE", help="e.g. ENABLE_INIT_CONTAINER_INJECTION=false"
    )
    starting.add_argument("--without-operator", action="store_true", help="it is for you to install, as by Helm")
    commands.add_parser("down", help="end it, and restore the machine's settings; installed packages stay")
    asked = parser.parse_args(arguments)
    if asked.command == "down":
        down()
    else:
        environment = dict(pair.split("=", 1) for pair in asked.kuberay_env)
        up(asked.nodes, asked.gpus, environment, operator=not asked.without_operator)


if __name__ == "__main__":
    main(sys.argv[1:])
