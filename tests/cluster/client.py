"""Use a Kubernetes cluster in a test. Only ``kubectl`` and ``apply`` run kubectl; others use one kept connection."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from collectorfleet_api.manifests.yaml_writer import to_yaml
from tests.cluster.api import Api
from tests.cluster.errors import KubernetesError
from tests.wait import eventually

Object = dict[str, Any]
Manifest = str | Path | Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Client:
    """A client of one Kubernetes, which it reaches through a kubeconfig."""

    def __init__(self, kubectl: Path, kubeconfig: Path, discovery_cache: Path | None = None) -> None:
        self._kubectl = kubectl
        self._api = Api(kubeconfig)
        self.kubeconfig = kubeconfig
        self._env = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        if discovery_cache:
            # kubectl caches its discovery by host:port, and a test cluster may get the port of an earlier cluster.
            self._env["KUBECACHEDIR"] = str(discovery_cache)

    def kubectl(self, *args: str, input: str | None = None, timeout: float = 60) -> str:  # noqa: A002
        """Run kubectl and return its stdout. KubernetesError if it fails or takes longer than ``timeout`` seconds."""
        try:
            done = subprocess.run(
                [str(self._kubectl), *args],
                check=False,
                input=input,
                env=self._env,
                timeout=timeout,
                text=True,
                capture_output=True,
            )
        except subprocess.TimeoutExpired as late:
            raise KubernetesError(f"kubectl {' '.join(args)}: no answer within {timeout:g} s") from late
        if done.returncode != 0:
            said = done.stderr.strip() or f"kubectl {' '.join(args)} failed without a word"
            raise KubernetesError(said, done.stdout)
        return done.stdout

    def apply(self, manifest: Manifest, namespace: str | None = None, *, output: str = "") -> str:
        """Apply objects, YAML text or a file, and return kubectl's output.

        It applies on the server side, because large CRDs do not fit into an annotation.
        """
        words = ("apply", "--server-side", *_in(namespace), *(("-o", output) if output else ()), "-f", "-")
        return self.kubectl(*words, input=manifest_text(manifest), timeout=120)

    def apply_crds(self, *crds: Path | str) -> None:
        """Apply CRDs, each a file, a folder or YAML text, and block until they are served."""
        folders = [sorted(one.glob("*.yaml")) if isinstance(one, Path) and one.is_dir() else [one] for one in crds]
        names = [name for files in folders for one in files for name in self.apply(one, output="name").split()]
        for name in names:
            self.wait_for(name, "Established")
        self._api.forget_kinds()

    def delete(self, target: str, namespace: str | None = None, *, wait: bool = True) -> None:
        """Delete ``kind/name``. If it does not exist, nothing happens.

        With ``wait``, block until the object does not exist any more. AssertionError if that takes more than 60 s.
        """
        found = self.find(target, namespace)
        if found is None:
            return
        kind, _, name = target.partition("/")
        self._api.delete(kind, name, namespace)
        if wait:
            uid = found["metadata"]["uid"]
            # Its owner may have created another object with this name meanwhile.
            eventually(
                lambda: self.find(target, namespace),
                until=lambda now: now is None or now["metadata"]["uid"] != uid,
                within=60,
                what=f"{target}: gone",
            )

    def merge_status(self, target: str, namespace: str, status: Object) -> None:
        """Write these fields of the status of ``kind/name``, as its controller does. Other fields stay."""
        kind, _, name = target.partition("/")
        self._api.merge_status(kind, name, namespace, status)

    def get(self, target: str, namespace: str | None = None) -> Object:
        """Return ``kind/name`` as an object, or ``kind`` as a List object. The default namespace is ``default``."""
        kind, _, name = target.partition("/")
        if not name:
            return {"apiVersion": "v1", "kind": "List", "items": self.items(kind, namespace or "default")}
        return self._api.get(kind, name, namespace)

    def find(self, target: str, namespace: str | None = None) -> Object | None:
        """Return what ``get`` returns, or None if the object does not exist."""
        try:
            return self.get(target, namespace)
        except KubernetesError as error:
            if error.not_found:
                return None
            raise

    def items(self, kind: str, namespace: str | None = None, selector: str = "") -> list[Object]:
        """Return all objects of a kind that match a label selector, in one namespace or in all."""
        return self._api.items(kind, namespace, selector)

    def wait_for(
        self,
        target: str,
        until: str | Callable[[Object], bool],
        namespace: str | None = None,
        *,
        within: float = 60,
    ) -> Object:
        """Block until ``kind/name`` exists and its condition ``until`` is True, or ``until(object)`` is true.

        Returns the object. AssertionError with the last status after ``within`` seconds.
        """
        __tracebackhide__ = True
        holds = _condition_true(until) if isinstance(until, str) else until
        goal = until if isinstance(until, str) else "the awaited state"

        def probe() -> Object:
            found = self.get(target, namespace)
            assert holds(found), f"status {json.dumps(found.get('status'))}"
            return found

        return eventually(
            probe,
            within=within,
            every=0.2,
            what=f"{target}: {goal}",
            tolerate=(AssertionError, KubernetesError, KeyError),
        )

    def wait_gone(self, target: str, namespace: str | None = None, *, within: float = 60) -> None:
        """Block until ``kind/name`` does not exist. AssertionError after ``within`` seconds."""
        __tracebackhide__ = True
        eventually(
            lambda: self.find(target, namespace),
            until=lambda found: found is None,
            within=within,
            what=f"{target}: gone",
        )

    @contextlib.contextmanager
    def temporary_namespace(self, prefix: str = "test") -> Iterator[str]:
        """Yield a new namespace that has its default service account. Request its deletion at the end of the block."""
        name = f"{prefix[:40].rstrip('-')}-{secrets.token_hex(3)}"
        self._api.create("namespace", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        try:
            # The API server refuses pods until the controller manager has created the account. After an outage of the
            # API server, the controller manager retries within a minute.
            eventually(lambda: self.find("serviceaccount/default", name), within=90, what=f"default account of {name}")
            yield name
        finally:
            self.delete(f"namespace/{name}", wait=False)


def manifest_text(manifest: Manifest) -> str:
    """Return a manifest as YAML text. A path is read."""
    if isinstance(manifest, str):
        return manifest
    if isinstance(manifest, Path):
        return manifest.read_text()
    objects = [manifest] if isinstance(manifest, Mapping) else manifest
    return to_yaml(*(dict(item) for item in objects))


def condition(obj: Object, name: str) -> Object | None:
    """Return the condition of the type ``name`` in an object's status, or None."""
    # The conditions of a new CRD are null.
    found: list[Object] = (obj.get("status") or {}).get("conditions") or []
    return next((c for c in found if c["type"] == name), None)


def _condition_true(name: str) -> Callable[[Object], bool]:
    return lambda obj: (condition(obj, name) or {}).get("status") == "True"


def _in(namespace: str | None) -> tuple[str, ...]:
    return ("-n", namespace) if namespace else ()
