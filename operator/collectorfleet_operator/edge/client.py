"""The only module that talks to the API server, except for kopf's watches.

The operator writes objects by server-side apply, so that each writer owns its fields and a second apply changes
nothing. This module never awaits ``DynamicClient``: its discovery would read every API and write a cache file with a
guessable name.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from kubernetes.aio import client
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.dynamic import DynamicClient
from kubernetes.aio.dynamic.resource import Resource

from collectorfleet_api import names
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.edge import configuration
from collectorfleet_operator.edge.errors import (
    NotFoundError,
    NotLeadingError,
    NotServedError,
    UnavailableError,
    from_answer,
)
from collectorfleet_operator.edge.listing import Incomplete, Listing, Unchanged
from collectorfleet_operator.edge.readable import object_of
from collectorfleet_operator.objects import Key, Kind, Object, metadata, name_of, namespace_of

# The client's own default is five minutes.
TIMEOUT_SECONDS: Final = 10
LIST_SECONDS: Final = 60
# A piece of this size has a few items, which take a few milliseconds to decode.
_PIECE_BYTES: Final = 2**16
_MERGED: Final = "application/merge-patch+json"
# The version of an empty store. An apply with this version creates a missing object and conflicts with an existing one.
_OF_NO_OBJECT: Final = "1"
# Every stored object has these metadata fields.
_IDENTITY: Final = frozenset({"name", "uid", "resourceVersion"})
_NEWEST: Final[Mapping[str, str]] = {}
_METADATA_ALONE: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class _PlainJson(client.ApiClient):
    """An API client that sends bodies unchanged.

    The bodies are plain JSON, and the base class would copy each body to check it.
    """

    def sanitize_for_serialization(self, obj: Any) -> Any:
        return obj


class Kube:
    """A connection to the API server.

    Every method may raise KubeError. After ten seconds without an answer, a method raises UnavailableError.

    A method writes only if ``may_write`` returns true at that moment. ``versions`` maps API groups to versions. These
    versions replace the newest versions that this operator supports.
    """

    def __init__(
        self,
        api: client.ApiClient,
        may_write: Callable[[], bool] = lambda: True,
        versions: Mapping[str, str] = _NEWEST,
    ) -> None:
        self._api = api
        self._may_write = may_write
        self._versions = versions
        self._dynamic = DynamicClient(api)
        self._resources: dict[Kind, Resource] = {}

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(cls, *traces: aiohttp.TraceConfig) -> AsyncIterator[Kube]:
        """Connect with the pod's service account, or outside of a cluster with KUBECONFIG.

        ``traces`` are called with every request. Raises NotConfiguredError.
        """
        found = await configuration.load()
        found.trace_configs = list(traces)
        # Otherwise each request would look up proxies in the environment and passwords in netrc.
        found.client_session_kwargs = {"trust_env": False}
        found.proxy = found.proxy or _proxy(found.host)
        async with _PlainJson(found) as api:
            yield cls(api)

    def only_while(self, may_write: Callable[[], bool]) -> Kube:
        """Return a client with the same connection that writes only while ``may_write`` returns true."""
        return Kube(self._api, may_write, self._versions)

    def in_versions(self, versions: Mapping[str, str]) -> Kube:
        """Return a client with the same connection that uses these API versions of some groups."""
        return Kube(self._api, self._may_write, versions)

    def as_served(self, kind: Kind) -> Kind:
        """Return the kind in the API version that this client uses."""
        return kind.at(self._versions[kind.group]) if kind.group in self._versions else kind

    async def versions(self, group: str) -> frozenset[str]:
        """Return the served versions of a group, or an empty set if the API server does not serve the group."""
        what = f"get the versions of {group}"
        try:
            found = await self._ask(what, self._dynamic.request("get", f"/apis/{group}", **_OPTIONS))
            return frozenset(one["version"] for one in found["versions"])
        except NotServedError:
            return frozenset()
        except (LookupError, TypeError) as error:
            raise UnavailableError(what, "the answer has no versions") from error

    async def list(
        self,
        kind: Kind,
        namespace: str | None,
        into: Listing,
        label: str | None = None,
        field: str | None = None,
        *,
        metadata_alone: bool = False,
    ) -> AsyncIterator[Object | Unchanged]:
        """Yield objects, or their metadata, of one namespace or of all namespaces, from the API server's cache.

        Yield Unchanged for an object that has not changed since the previous list with the same ``into``.
        """
        # Within a cluster, compressing ten megabytes takes longer than sending them.
        headers = {"Accept-Encoding": "identity"}
        if metadata_alone:
            headers["Accept"] = _METADATA_ALONE
        request = self._resource(kind).get(
            namespace=namespace,
            label_selector=label,
            field_selector=field,
            # The API server answers from its watch cache, so that a resync causes no load on etcd.
            resource_version="0",
            header_params=headers,
            **_LIST,
        )
        served = self.as_served(kind)
        with _errors_of(f"list {kind.full_name}", LIST_SECONDS):
            async with await request as answer:
                async for item in into.read(_pieces(answer)):
                    if not isinstance(item, Unchanged):
                        # Items of a list have no apiVersion and kind, or have apiVersion and kind of
                        # PartialObjectMetadata.
                        item |= {"apiVersion": served.api_version, "kind": kind.kind}
                    yield item

    async def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return one object, or None. ``namespace`` is empty for a cluster-scoped object."""
        path = f"{namespace}/{name}" if namespace else name
        request = self._resource(kind).get(name=name, namespace=namespace or None, **_OPTIONS)
        try:
            return await self._ask_object(f"get {kind} {path}", request)
        except NotFoundError:
            return None

    async def apply(self, kind: Kind, manifest: Object) -> Object:
        """Create the object, or apply the fields of the manifest to it. Return the stored object.

        Other clients lose the ownership of these fields.
        """
        return await self._write(
            f"apply {kind} {namespace_of(manifest)}/{name_of(manifest)}",
            lambda: self._resource(kind).server_side_apply(body=manifest, force_conflicts=True, **_APPLY),
        )

    async def apply_new(self, kind: Kind, manifest: Object) -> Object:
        """Create the object with the fields of the manifest, as :meth:`apply` would.

        Raises ConflictError if an object of this name exists. That object stays unchanged.
        """
        body = {**manifest, "metadata": {**metadata(manifest), "resourceVersion": _OF_NO_OBJECT}}
        return await self.apply(kind, body)

    async def apply_status(self, seen: Object, status: Object) -> Object:
        """Write the operator's part of the status of a fleet. Return the stored fleet.

        Raises ConflictError if the fleet has changed since it was ``seen``, or if another fleet has its name.
        """
        identity = {key: metadata(seen)[key] for key in ("name", "namespace", "uid", "resourceVersion")}
        body = {"apiVersion": FLEET.api_version, "kind": FLEET.kind, "metadata": identity, "status": status}
        return await self._write(
            f"apply status of {FLEET} {namespace_of(seen)}/{name_of(seen)}",
            lambda: self._resource(FLEET).status.server_side_apply(body=body, force_conflicts=True, **_APPLY),
        )

    async def set_status(self, kind: Kind, seen: Object, status: Object) -> Object:
        """Set these fields in the status of an object that another controller reconciles. Return the object.

        Raises ConflictError if the object has changed since it was ``seen``.
        """
        identity = {key: metadata(seen)[key] for key in ("name", "namespace", "uid", "resourceVersion")}
        served = self.as_served(kind)
        body = {"apiVersion": served.api_version, "kind": kind.kind, "metadata": identity, "status": status}
        return await self._write(
            f"set status of {kind} {namespace_of(seen)}/{name_of(seen)}",
            lambda: self._resource(kind).status.patch(
                body=body, content_type=_MERGED, **_OPTIONS, field_manager=names.OPERATOR_MANAGER
            ),
        )

    async def delete(
        self, kind: Kind, key: Key, uid: str, *, force: bool = False, grace_seconds: int | None = None
    ) -> None:
        """Delete the object with this uid. It is no error if the object is gone already.

        The object stays visible until the objects that it owns are gone. A pod stays visible until the kubelet has
        ended the pod, for at most ``grace_seconds``. With ``force`` the object is gone when this method returns, unless
        it has finalizers.
        """
        body: Object = {"preconditions": {"uid": uid}, "propagationPolicy": "Foreground"}
        if force:
            body |= {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
        elif grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        what = f"delete {kind} {key}"
        self._check_lease(what)
        request = self._resource(kind).delete(name=key.name, namespace=key.namespace, body=body, **_OPTIONS)
        with contextlib.suppress(NotFoundError):
            # The answer is the object, or a Status.
            await self._ask(what, request)

    async def create(self, kind: Kind, manifest: Object) -> Object:
        """Create an object. Raises ConflictError if an object of this name exists."""
        return await self._write(
            f"create {kind} {namespace_of(manifest)}/{name_of(manifest)}",
            lambda: self._resource(kind).create(body=manifest, **_OPTIONS, field_manager=names.OPERATOR_MANAGER),
        )

    async def _write(self, what: str, request: Callable[[], Any]) -> Object:
        self._check_lease(what)
        return await self._ask_object(what, request())

    def _check_lease(self, what: str) -> None:
        if not self._may_write():
            raise NotLeadingError(what, "not sent: another operator may be the leader by now")

    async def _ask_object(self, what: str, request: Any) -> Object:
        found = await self._ask(what, request)
        identity = found.get("metadata")
        if not isinstance(identity, dict) or not identity.keys() >= _IDENTITY:
            raise UnavailableError(what, "the answer is not an object of Kubernetes")
        return found

    async def _ask(self, what: str, request: Any) -> Object:
        with _errors_of(what):
            found = await (await request).json(loads=object_of)
        if not isinstance(found, dict):
            raise UnavailableError(what, "the answer is not an object")
        return found

    def _resource(self, kind: Kind) -> Resource:
        if kind not in self._resources:
            self._resources[kind] = Resource(
                prefix="apis" if kind.group else "api",
                group=kind.group,
                api_version=self.as_served(kind).version,
                kind=kind.kind,
                name=kind.plural,
                namespaced=kind.namespaced,
                client=self._dynamic,
                subresources=_status(kind) if kind in (FLEET, WORKLOAD) else {},
            )
        return self._resources[kind]


@contextlib.contextmanager
def _errors_of(what: str, seconds: int = TIMEOUT_SECONDS) -> Iterator[None]:
    try:
        yield
    except ApiException as error:
        raise from_answer(what, int(error.status or 0), str(error.body or "")) from error
    except TimeoutError as error:
        raise UnavailableError(what, str(error) or f"no answer within {seconds} s") from error
    except (aiohttp.ClientError, OSError, Incomplete) as error:
        raise UnavailableError(what, f"{type(error).__name__}: {error}") from error
    except ValueError as error:
        # For example, a proxy answers in place of the API server.
        raise UnavailableError(what, f"the answer is not JSON: {error}") from error


async def _pieces(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    async for piece in answer.content.iter_chunked(_PIECE_BYTES):
        yield piece
        # Buffered pieces come without a pause, so other tasks would wait for the end of the list.
        await asyncio.sleep(0)


def _proxy(host: str) -> str | None:
    """Return the proxy that the environment sets for this host, or None if there is none."""
    url = urlsplit(host)
    return None if proxy_bypass(url.netloc) else getproxies().get(url.scheme)


_OPTIONS: Final[Mapping[str, Any]] = {"serialize": False, "_request_timeout": TIMEOUT_SECONDS}
_APPLY: Final[Mapping[str, Any]] = {**_OPTIONS, "field_manager": names.OPERATOR_MANAGER}
# A list may need more time in total, as long as data arrives.
_LIST: Final[Mapping[str, Any]] = {
    **_OPTIONS,
    "_request_timeout": aiohttp.ClientTimeout(
        total=LIST_SECONDS, sock_connect=TIMEOUT_SECONDS, sock_read=TIMEOUT_SECONDS
    ),
}


def _status(kind: Kind) -> Mapping[str, Any]:
    return {"status": {"name": f"{kind.plural}/status", "kind": kind.kind, "namespaced": True, "verbs": ["patch"]}}
