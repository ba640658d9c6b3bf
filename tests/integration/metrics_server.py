"""What an HPA asks for its numbers: an API of metrics, served to a real API server by this process.

It plays metrics-server and a metrics adapter; the HPA controller and the aggregation of the API are Kubernetes' own.
"""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane

EXTERNAL, RESOURCE = "external.metrics.k8s.io", "metrics.k8s.io"
NAMESPACE = "kube-system"


class MetricsServer:
    """``external`` is the one External metric; ``cpu_millis`` is what each pod that is asked for uses."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.external = 0
        self.cpu_millis = 0
        self.asked: list[str] = []

    def answer(self, path: str) -> Object | None:
        """The body of a GET; None where nothing is served."""
        parts = urlsplit(path)
        words = parts.path.strip("/").split("/")
        match words:
            case ["apis", group, version]:
                return _discovery(group, version)
            case ["apis", "external.metrics.k8s.io", "v1beta1", "namespaces", _, metric]:
                self.asked.append(f"{metric}?{parts.query}")
                item = {"metricName": metric, "metricLabels": {}, "timestamp": _now(), "value": str(self.external)}
                return _list(EXTERNAL, "ExternalMetricValueList", [item])
            case ["apis", "metrics.k8s.io", "v1beta1", "namespaces", namespace, "pods"]:
                [selector] = parse_qs(parts.query)["labelSelector"]
                pods = self._plane.items("pods", namespace, selector)
                return _list(RESOURCE, "PodMetricsList", [self._of(pod) for pod in pods])
        return None

    def _of(self, pod: Object) -> Object:
        meta = {key: pod["metadata"][key] for key in ("name", "namespace", "labels")}
        used = [
            {"name": one["name"], "usage": {"cpu": f"{self.cpu_millis}m", "memory": "1Mi"}}
            for one in pod["spec"]["containers"]
        ]
        return {"metadata": meta, "timestamp": _now(), "window": "30s", "containers": used}


@contextlib.contextmanager
def metrics_server(plane: ControlPlane, certificate: Path, key: Path) -> Iterator[MetricsServer]:
    """Serve both APIs as parts of the API server's."""
    played = MetricsServer(plane)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(played.answer))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    names = [f"v1beta1.{group}" for group in (EXTERNAL, RESOURCE)]
    try:
        plane.apply([_service(), *(_api(group, server.server_port) for group in (EXTERNAL, RESOURCE))])
        for name in names:
            plane.wait_for(f"apiservice/{name}", "Available", within=60)
        yield played
    finally:
        for name in names:
            plane.delete(f"apiservice/{name}")
        server.shutdown()
        server.server_close()
        thread.join()


def _service() -> Object:
    """Outside of the cluster; by name, because loopback is no address of an endpoint."""
    spec = {"type": "ExternalName", "externalName": "localhost"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "metrics", "namespace": NAMESPACE},
        "spec": spec,
    }


def _api(group: str, port: int) -> Object:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1beta1.{group}"},
        "spec": {
            "group": group,
            "version": "v1beta1",
            "service": {"name": "metrics", "namespace": NAMESPACE, "port": port},
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    }


def _discovery(group: str, version: str) -> Object:
    found = {EXTERNAL: ("*", "ExternalMetricValueList"), RESOURCE: ("pods", "PodMetrics")}[group]
    resource = {"name": found[0], "kind": found[1], "namespaced": True, "singularName": "", "verbs": ["get", "list"]}
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}",
        "resources": [resource],
    }


def _list(group: str, kind: str, items: list[Object]) -> Object:
    return {"apiVersion": f"{group}/v1beta1", "kind": kind, "metadata": {}, "items": items}


def _now() -> str:
    return (datetime.now(UTC) - timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _handler(answer: Callable[[str], Object | None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answer(self.path)
            data = json.dumps(body or {}).encode()
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Said to nobody."""

    return Handler
