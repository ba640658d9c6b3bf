"""A password of any characters arrives in UTF-8, as git, docker and curl send it."""

from __future__ import annotations

import base64
import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.git_repository import Repository
from tests.gitops.git_http import served

from collectorfleet.run.code.bounds import Bounds
from collectorfleet.run.code.git import write_tree
from collectorfleet.run.code.registry import Reference, Registry
from collectorfleet.run.code.registry_login import Login
from collectorfleet.run.code.web import Web
from collectorfleet_api.v1alpha1 import Git, LocalObjectReference

USER = "jörg"
PASSWORDS = pytest.mark.parametrize(
    "password", [pytest.param("grün", id="of latin-1"), pytest.param("5€uro", id="outside of latin-1")]
)


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@contextmanager
def asking_for_a_login() -> Iterator[tuple[str, list[str | None]]]:
    """A server that is a registry and a proxy; its address, and the logins of its requests."""
    logins: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="lab"')
            self.end_headers()

        def do_GET(self) -> None:
            logins.append(self.headers["Authorization"] or self.headers["Proxy-Authorization"])
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class names it so)
            """Print no request. The test reads the recorded requests."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"127.0.0.1:{server.server_port}", logins
        server.shutdown()
        thread.join()


def basic(password: str) -> str:
    return f"Basic {base64.b64encode(f'{USER}:{password}'.encode()).decode()}"


@PASSWORDS
def test_a_git_server_takes_a_password_of_any_characters(tmp_path: Path, into: Path, password: str) -> None:
    commit = Repository(tmp_path).commit(train="")
    (tmp_path / "username").write_text(USER)
    (tmp_path / "password").write_text(password)
    with served(tmp_path, user=f"{USER}:{password}") as address:
        source = Git(
            repository=f"{address}/lab.git", commit=commit, credentials_secret=LocalObjectReference(name="forge")
        )
        assert write_tree(source, tmp_path, into) == f"git:{commit}"


@PASSWORDS
def test_a_registry_gets_a_password_of_any_characters(password: str) -> None:
    with asking_for_a_login() as (address, logins):
        registry = Registry(Reference(address, "lab", "sha256:0"), "lab", Login(USER, password), "forge", None)
        registry.manifest(io.BytesIO(), Bounds("lab"))
    assert logins == [basic(password)]


@PASSWORDS
def test_a_proxy_gets_a_password_of_any_characters(monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    with asking_for_a_login() as (address, logins):
        monkeypatch.setenv("HTTP_PROXY", f"http://{quote(USER)}:{quote(password)}@{address}")
        Web("lab").download("http://lab.invalid/tree", io.BytesIO(), Bounds("lab"))
    assert logins == [basic(password)]
