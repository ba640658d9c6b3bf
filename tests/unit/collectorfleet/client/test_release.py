"""The release that a cluster tells, over HTTP, and what `status` makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml

from collectorfleet.cli.release import difference
from collectorfleet.cli.version import version
from collectorfleet.client.connection import Connection, connect
from collectorfleet.client.release import cluster_release
from collectorfleet_api import names

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/collectorfleets.collectorfleet.dev"


class Server(BaseHTTPRequestHandler):
    """Answers for the CRD alone, as the API server does for its metadata."""

    answer: tuple[int, object]

    def do_GET(self) -> None:
        partial = "as=PartialObjectMetadata" in self.headers["Accept"]
        code, body = self.answer if self.path == PATH and partial else (404, {})
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        config = {
            "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
            "users": [{"name": "it", "user": {}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        }
        file = tmp_path / "config"
        file.write_text(yaml.safe_dump(config))
        made = connect(kubeconfig=str(file))
        with made.api:
            yield made
        server.shutdown()


@pytest.mark.parametrize(
    ("answer", "release"),
    [
        pytest.param((200, {"metadata": {"labels": {names.VERSION_LABEL: "0.3.1"}}}), "0.3.1", id="told"),
        pytest.param((200, {"metadata": {"labels": {"app.kubernetes.io/name": "it"}}}), None, id="other labels"),
        pytest.param((200, {"metadata": {}}), None, id="no labels"),
        pytest.param((403, {"message": "forbidden"}), None, id="no right to read it"),
    ],
)
def test_the_crd_tells_the_release(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, object], release: str | None
) -> None:
    monkeypatch.setattr(Server, "answer", answer, raising=False)
    assert cluster_release(connection) == release


OWN = version()
MAJOR, MINOR, _ = OWN.split(".", 2)


@pytest.mark.parametrize("cluster", [OWN, f"{MAJOR}.{MINOR}.99", f"{MAJOR}.{MINOR}.1-rc1", None])
def test_the_same_minor_release_and_an_unknown_one_are_no_news(cluster: str | None) -> None:
    assert difference(cluster) is None


@pytest.mark.parametrize("cluster", [f"{MAJOR}.{int(MINOR) + 1}.2", f"{int(MAJOR) + 1}.{MINOR}.0"])
def test_another_minor_release_is_one_line_with_what_to_install(cluster: str) -> None:
    wanted = ".".join(cluster.split(".")[:2])
    assert difference(cluster) == (
        f"note: this program is CollectorFleet {OWN}, but the cluster has {cluster}; for all fields and commands of "
        "the "
        f"cluster: pip install 'collectorfleet[client]=={wanted}.*'"
    )
