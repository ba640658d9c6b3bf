"""Flux's source, kustomize and helm controllers: its processes on this machine, for a cluster of the tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.cluster import binaries, module_files
from tests.cluster.client import Client, Object, condition
from tests.cluster.process import Command, Component
from tests.ports import reserve_ports

NAMESPACE = "flux-system"
REPOSITORY = "gitrepositories.source.toolkit.fluxcd.io"
KUSTOMIZATION = "kustomizations.kustomize.toolkit.fluxcd.io"
RELEASE = "helmreleases.helm.toolkit.fluxcd.io"
_REQUESTED = "reconcile.fluxcd.io/requestedAt"
_START_SECONDS = 60


def missing() -> str | None:
    """Why it cannot be started here, in one line that says what to do; None if it can."""
    return binaries.missing(binaries.FLUX)


class Flux:
    """Its controllers. They look at git when ``commit`` asks them to, as a webhook would."""

    def __init__(self, cluster: Client, folder: Path) -> None:
        self._cluster = cluster
        storage, *ports = reserve_ports(1 + 2 * len(binaries.FLUX))
        env = {
            "HOME": str(folder),
            "KUBECONFIG": str(cluster.kubeconfig),
            "RUNTIME_NAMESPACE": NAMESPACE,
            "TMPDIR": str(folder),
            # Where artifacts are is a name of the cluster's DNS otherwise.
            "SOURCE_CONTROLLER_LOCALHOST": f"127.0.0.1:{storage}",
        }
        options: dict[str, tuple[str, ...]] = {
            "flux-source": (
                f"--storage-path={folder / 'artifacts'}",
                f"--storage-addr=127.0.0.1:{storage}",
                f"--storage-adv-addr=127.0.0.1:{storage}",
            ),
            "flux-kustomize": ("--requeue-dependency=2s",),
            "flux-helm": ("--requeue-dependency=2s",),
        }
        (folder / "artifacts").mkdir()
        self._components = []
        for index, tool in enumerate(binaries.FLUX):
            health, metrics = ports[2 * index : 2 * index + 2]
            binary = binaries.build(tool) / f"{tool.name.removeprefix('flux-')}-controller"
            words = (
                binary,
                *options[tool.name],
                "--enable-leader-election=false",
                "--events-addr=",
                f"--health-addr=127.0.0.1:{health}",
                f"--metrics-addr=127.0.0.1:{metrics}",
                "--interval-jitter-percentage=0",
            )
            command = Command(tool.name, words, f"http://127.0.0.1:{health}/readyz", env)
            self._components.append(Component(command, folder / f"{tool.name}.log"))

    def start(self) -> None:
        for files in module_files.FLUX:
            self._cluster.apply_crds(files.folder() / "config/crd/bases")
        self._cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for component in self._components:
            component.launch()
        for component in self._components:
            component.wait_ready(_START_SECONDS)

    def stop(self) -> None:
        for component in reversed(self._components):
            component.stop()

    def refresh(self, *targets: str) -> None:
        """Reconcile these now, in this order: each is waited for."""
        for target in targets:
            now = datetime.now(UTC).isoformat()
            self._cluster.kubectl("annotate", "--overwrite", target, "-n", NAMESPACE, f"{_REQUESTED}={now}")
            self.wait(target, lambda obj, now=now: obj["status"].get("lastHandledReconcileAt") == now, within=60)  # type: ignore[misc]

    def get(self, target: str) -> Object:
        return self._cluster.get(target, NAMESPACE)

    def wait(self, target: str, until: Callable[[Object], Any], *, within: float) -> Object:
        __tracebackhide__ = True
        return self._cluster.wait_for(target, lambda obj: bool(until(obj)), NAMESPACE, within=within)

    def ready(self, target: str, commit: str, *, within: float) -> Object:
        """Block until what a commit says has been applied and is ready."""
        __tracebackhide__ = True

        def is_carried_out(obj: Object) -> bool:
            return status(obj) == "True" and commit in obj["status"].get("lastAppliedRevision", "")

        return self.wait(target, is_carried_out, within=within)

    def delete(self, target: str, *, within: float) -> None:
        """Delete one with everything that it applied; blocks until it is gone."""
        self._cluster.delete(target, NAMESPACE, wait=False)
        self._cluster.wait_gone(target, NAMESPACE, within=within)


def ready(obj: Object) -> Object:
    """The condition by which Flux says how it went."""
    return condition(obj, "Ready") or {}


def status(obj: Object) -> str:
    """``True``, ``False`` or ``Unknown`` while it waits; empty for an older generation."""
    found = ready(obj)
    # The object's own observedGeneration is that of its last success.
    current = found.get("observedGeneration") == obj["metadata"]["generation"]
    return str(found.get("status", "")) if current else ""
