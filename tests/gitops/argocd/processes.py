"""Argo CD without its web interface (Core): its processes on this machine, for a cluster of the tests."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.cluster import binaries, module_files, packages
from tests.cluster.client import Client, Object
from tests.cluster.process import Command, Component
from tests.gitops import manifests
from tests.ports import reserve_ports
from tests.wait import eventually

NAMESPACE = "argocd"
APPLICATION = "applications.argoproj.io"
PACKAGES: Mapping[tuple[str, ...], str] = {("redis-server",): "redis-server", ("git",): "git"}
_START_SECONDS = 60


def missing() -> str | None:
    """Why it cannot be started here, in one line that says what to do; None if it can."""
    return packages.reason(PACKAGES) or binaries.missing([binaries.ARGOCD, binaries.HELM])


class ArgoCD:
    """Redis, repo-server and application-controller. A sync begins when ``refresh`` asks for it, as a webhook would."""

    def __init__(self, cluster: Client, folder: Path) -> None:
        self._cluster = cluster
        redis, repo, repo_metrics, controller_metrics = reserve_ports(4)
        argocd = binaries.build(binaries.ARGOCD) / "argocd"
        path = f"{binaries.build(binaries.HELM)}{os.pathsep}{os.environ['PATH']}"
        env = {
            "ARGOCD_FAKE_IN_CLUSTER": "true",
            "ARGOCD_GPG_ENABLED": "false",
            "ARGOCD_TLS_DATA_PATH": str(folder / "tls"),
            "ARGOCD_SSH_DATA_PATH": str(folder / "ssh"),
            "HOME": str(folder),
            "HOSTNAME": "argocd-0",
            "KUBECONFIG": str(cluster.kubeconfig),
            "PATH": path,
            "TMPDIR": str(folder),
        }
        for name in ("tls", "ssh"):
            (folder / name).mkdir()
        self._redis_port = redis
        redis_words = ("redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", "", "--dir", folder)
        commands = (
            Command(
                "repo-server",
                (
                    argocd,
                    "--address=127.0.0.1",
                    f"--port={repo}",
                    "--metrics-address=127.0.0.1",
                    f"--metrics-port={repo_metrics}",
                    "--disable-tls",
                    f"--redis=127.0.0.1:{redis}",
                ),
                f"http://127.0.0.1:{repo_metrics}/healthz",
                env | {"ARGOCD_BINARY_NAME": "argocd-repo-server"},
            ),
            Command(
                "application-controller",
                (
                    argocd,
                    f"--metrics-port={controller_metrics}",
                    f"--redis=127.0.0.1:{redis}",
                    f"--repo-server=127.0.0.1:{repo}",
                    "--repo-server-plaintext",
                    f"--namespace={NAMESPACE}",
                    # A drift is seen, and a status taken up, without anybody asking.
                    "--app-resync=20",
                    "--app-resync-jitter=0",
                    "--self-heal-timeout-seconds=2",
                    # Otherwise only the web interface shows what each resource says of itself.
                    "--persist-resource-health",
                ),
                f"http://127.0.0.1:{controller_metrics}/healthz",
                env | {"ARGOCD_BINARY_NAME": "argocd-application-controller"},
            ),
        )
        self._redis = Component(Command("redis", redis_words, ""), folder / "redis.log")
        self._components = [Component(command, folder / f"{command.name}.log") for command in commands]

    def start(self) -> None:
        packages.install(PACKAGES)
        self._cluster.apply_crds(module_files.ARGOCD.folder() / "manifests/crds")
        self._cluster.apply(settings())
        self._redis.launch()
        eventually(self._redis_answers, within=_START_SECONDS, what="redis answers", tolerate=(OSError,))
        for component in self._components:
            component.launch()
        for component in self._components:
            component.wait_ready(_START_SECONDS)

    def stop(self) -> None:
        for component in (*reversed(self._components), self._redis):
            component.stop()

    def refresh(self, name: str) -> None:
        """Look at git and at the cluster now."""
        patch = json.dumps({"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}})
        self._cluster.kubectl("patch", APPLICATION, name, "-n", NAMESPACE, "--type=merge", "-p", patch)

    def application(self, name: str) -> Object:
        return self._cluster.get(f"{APPLICATION}/{name}", NAMESPACE)

    def wait(self, name: str, until: Callable[[Object], bool], *, within: float) -> Object:
        """Block until an application's status is such; returns the application."""
        __tracebackhide__ = True
        return self._cluster.wait_for(
            f"{APPLICATION}/{name}", lambda app: until(app["status"]), NAMESPACE, within=within
        )

    def synced(self, name: str, commit: str, *, within: float = 120) -> Object:
        """Block until a commit has been applied, without an error, and the cluster has what it says."""
        __tracebackhide__ = True
        self.refresh(name)

        def is_carried_out(status: Object) -> bool:
            done = status.get("operationState", {})
            assert done.get("phase") not in ("Failed", "Error"), done.get("message")
            here = done.get("phase") == "Succeeded" and done.get("syncResult", {}).get("revision") == commit
            return here and status["sync"]["status"] == "Synced" and status["sync"]["revision"] == commit

        return self.wait(name, is_carried_out, within=within)

    def delete(self, name: str, *, within: float) -> None:
        """Delete an application with everything that it applied; blocks until both are gone."""
        self._cluster.delete(f"{APPLICATION}/{name}", NAMESPACE, wait=False)
        self._cluster.wait_gone(f"{APPLICATION}/{name}", NAMESPACE, within=within)

    def _redis_answers(self) -> bool:
        with socket.create_connection(("127.0.0.1", self._redis_port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(5) == b"+PONG"


def settings() -> list[Object]:
    """What an installation of Argo CD has in its namespace, with the health of fleets."""
    labels = {"app.kubernetes.io/part-of": "argocd"}
    values = manifests.example("argocd/health-values.yaml")

    def named(kind: str, name: str) -> Object:
        return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}}

    project = named("AppProject", "default") | {"apiVersion": "argoproj.io/v1alpha1"}
    everything = {"group": "*", "kind": "*"}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        named("ConfigMap", "argocd-cm") | {"data": values["configs"]["cm"]},
        named("ConfigMap", "argocd-rbac-cm"),
        named("Secret", "argocd-secret"),
        project
        | {
            "spec": {
                "sourceRepos": ["*"],
                "destinations": [{"server": "*", "namespace": "*"}],
                "clusterResourceWhitelist": [everything],
            }
        },
    ]


def health(status: Object, kind: str = "CollectorFleet") -> tuple[str, str]:
    """Return the health that an application shows for its one object of a kind, and the message.

    AssertionError if the application does not list one such object, as before its first sync.
    """
    found = [one for one in status.get("resources", []) if one["kind"] == kind]
    assert len(found) == 1, found
    shown: Object = found[0].get("health", {})
    return shown.get("status", ""), shown.get("message", "")
