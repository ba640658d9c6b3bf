"""Read and write objects through one kept connection, by the names that kubectl knows.

kubectl needs a tenth of a second of CPU time before its first request. Tests that wait read several times a second.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import kubernetes
import urllib3

from tests.cluster.errors import KubernetesError

Object = dict[str, Any]

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
SECONDS = 60


@dataclass(frozen=True)
class Kind:
    """One kind of object that the API server serves. ``aliases`` are its names in kubectl."""

    name: str
    api_version: str
    plural: str
    namespaced: bool
    aliases: frozenset[str]

    def path(self, namespace: str | None, name: str | None) -> str:
        root = "/apis" if "/" in self.api_version else "/api"
        scope = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{root}/{self.api_version}{scope}/{self.plural}" + (f"/{quote(name)}" if name else "")


class Api:
    """A client of one Kubernetes, which it reaches through a kubeconfig.

    Requests raise KubernetesError if they fail or time out.
    """

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._client: kubernetes.client.ApiClient | None = None
        self._kinds: dict[str, Kind] = {}

    def forget_kinds(self) -> None:
        """Discover the served kinds and their versions again before the next request."""
        self._kinds = {}

    def get(self, kind: str, name: str, namespace: str | None) -> Object:
        """Return one object. If it does not exist, the message of the KubernetesError has ``(NotFound)``."""
        served = self._kind(kind)
        return _as_kubectl(self._read(served, namespace or "default", name), served)

    def items(self, kinds: str, namespace: str | None, selector: str = "") -> list[Object]:
        """Return all objects of these kinds (``pods,jobs``) that match a label selector, in one namespace or in all."""
        return [item for kind in kinds.split(",") for item in self._items(self._kind(kind), namespace, selector)]

    def create(self, kind: str, body: Object, namespace: str | None = None) -> Object:
        return self._write("POST", self._kind(kind).path(namespace, None), body)

    def merge_status(self, kind: str, name: str, namespace: str, status: Object) -> Object:
        """Merge these fields into the status subresource of an object."""
        path = f"{self._kind(kind).path(namespace, name)}/status"
        return self._write("PATCH", path, {"status": status}, "application/merge-patch+json")

    def delete(self, kind: str, name: str, namespace: str | None) -> None:
        """Request the deletion of an object, and of its dependents in the background.

        If the object does not exist, nothing happens.
        """
        path = self._kind(kind).path(namespace or "default", name)
        try:
            self._write("DELETE", path, {"propagationPolicy": "Background"})
        except KubernetesError as error:
            if not error.not_found:
                raise

    def _items(self, kind: Kind, namespace: str | None, selector: str) -> Iterator[Object]:
        for item in self._read(kind, namespace, None, selector)["items"]:
            yield _as_kubectl(item, kind)

    def _kind(self, alias: str) -> Kind:
        if alias not in self._kinds:
            self._kinds = self._discover()
        try:
            return self._kinds[alias]
        except KeyError:
            raise KubernetesError(f'error: the server doesn\'t have a resource type "{alias}"') from None

    def _discover(self) -> dict[str, Kind]:
        """Return each kind under each of its names.

        If several groups use a name, the first group of the API server gets the name, as in kubectl.
        """
        kinds: dict[str, Kind] = {}
        for root in ("/api", "/apis"):
            for kind in _kinds(self._request("GET", root, {"Accept": DISCOVERY})):
                for alias in kind.aliases:
                    kinds.setdefault(alias, kind)
        return kinds

    def _read(self, kind: Kind, namespace: str | None, name: str | None, selector: str = "") -> Object:
        try:
            return self._request(
                "GET", kind.path(namespace, name), fields={"labelSelector": selector} if selector else {}
            )
        except KubernetesError:
            # The CustomResourceDefinition may have been deleted since the discovery.
            self._kinds = {}
            raise

    def _write(self, method: str, path: str, body: Object, content: str = "application/json") -> Object:
        return self._request(method, path, {"Content-Type": content}, body=json.dumps(body))

    def _request(self, method: str, path: str, headers: Mapping[str, str] | None = None, **options: Any) -> Object:
        client = self._connection()
        token = client.configuration.auth_settings().get("BearerToken")
        own = {token["key"]: token["value"]} if token else {}
        url = client.configuration.host + path
        send = client.rest_client.pool_manager.request
        try:
            answer = send(method, url, headers={**own, **(headers or {})}, timeout=SECONDS, **options)
        except urllib3.exceptions.HTTPError as unreached:
            raise KubernetesError(f"Unable to connect to the server: {unreached}") from unreached
        if answer.status >= 300:
            raise KubernetesError(_refusal(answer))
        found: Object = json.loads(answer.data)
        return found

    def _connection(self) -> kubernetes.client.ApiClient:
        if self._client is None:
            configuration = kubernetes.client.Configuration()
            kubernetes.config.load_kube_config(str(self._kubeconfig), client_configuration=configuration)
            # Retry once, because the server may have closed the kept connection.
            configuration.retries = urllib3.Retry(total=1, backoff_factor=0)
            self._client = kubernetes.client.ApiClient(configuration)
        return self._client


def _kinds(discovery: Object) -> Iterator[Kind]:
    """Yield the kinds in one answer of the API server, each in the first version of its group that serves it."""
    for group in discovery["items"]:
        name, seen = group["metadata"].get("name", ""), set[str]()
        for version in group["versions"]:
            for resource in version.get("resources", ()):
                plural = resource["resource"]
                if plural in seen:
                    continue
                seen.add(plural)
                kind = resource["responseKind"]["kind"]
                names = {plural, resource["singularResource"], kind.lower(), *resource.get("shortNames", ())}
                yield Kind(
                    kind,
                    f"{name}/{version['version']}" if name else version["version"],
                    plural,
                    resource["scope"] == "Namespaced",
                    frozenset(alias for n in names for alias in (n, f"{n}.{name}") if n),
                )


def _as_kubectl(found: Object, kind: Kind) -> Object:
    """Return an object as ``kubectl get -o json`` prints it: with its kind, and without managed fields."""
    found.get("metadata", {}).pop("managedFields", None)
    return {"apiVersion": kind.api_version, "kind": kind.name, **found}


def _refusal(answer: urllib3.BaseHTTPResponse) -> str:
    try:
        status = json.loads(answer.data)
        return f"Error from server ({status['reason']}): {status['message']}"
    except (ValueError, KeyError, TypeError):
        return f"Error from server: {answer.status} {answer.reason}: {answer.data!r}"
