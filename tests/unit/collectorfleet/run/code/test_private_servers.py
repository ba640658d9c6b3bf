"""Code behind a proxy, on servers whose certificate authority only the spec names."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from tests.connect_proxy import ConnectProxy, proxied
from tests.git_repository import Repository
from tests.gitops.git_http import served
from tests.private_authority import PrivateAuthority, with_tls

from collectorfleet.pod.code_tree import main
from collectorfleet.run.code.tree import Mounts
from collectorfleet_api.names import EXIT_INFRASTRUCTURE, EXIT_USER_ERROR

SERVERS = ("git.lab", "files.lab", "registry.lab")


@pytest.fixture
def authority(tmp_path: Path) -> PrivateAuthority:
    folder = tmp_path / "authority"
    folder.mkdir()
    return PrivateAuthority(folder)


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            monkeypatch.delenv(name)


@contextmanager
def files_served(folder: Path, authority: PrivateAuthority, *, expired: bool = False) -> Iterator[int]:
    """The port of an HTTPS server of the files in ``folder``."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))) as server:
        with_tls(server, authority.server_context(*SERVERS, expired=expired))
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(tmp_path: Path, authority: PrivateAuthority, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConnectProxy]:
    """The proxy of the environment, which alone knows the three servers."""
    with (
        served(tmp_path, tls=authority.server_context(*SERVERS)) as forge,
        files_served(tmp_path, authority) as port,
        proxied({"git.lab:443": urlsplit(forge).port or 0, "files.lab:443": port, "registry.lab:443": port}) as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{proxy.port}")
        yield proxy


def zipped(folder: Path) -> bytes:
    path = folder / "lab.zip"
    with zipfile.ZipFile(path, "w") as tree:
        tree.writestr("train.py", "a = 1\n")
    return path.read_bytes()


def commit(folder: Path) -> dict[str, Any]:
    return {"git": {"repository": "https://git.lab/lab.git", "commit": Repository(folder).commit(train="a = 1\n")}}


def archive(folder: Path) -> dict[str, Any]:
    return {"archive": {"url": "https://files.lab/lab.zip", "sha256": hashlib.sha256(zipped(folder)).hexdigest()}}


def artifact(folder: Path) -> dict[str, Any]:
    def stored(kind: str, content: bytes) -> str:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        (folder / "v2/lab" / kind).mkdir(parents=True, exist_ok=True)
        (folder / "v2/lab" / kind / digest).write_bytes(content)
        return digest

    manifest = {"schemaVersion": 2, "layers": [{"digest": stored("blobs", zipped(folder))}]}
    return {"artifact": {"reference": f"registry.lab/lab@{stored('manifests', json.dumps(manifest).encode())}"}}


SOURCES = pytest.mark.parametrize(
    ("made", "server"),
    [
        pytest.param(commit, "git.lab:443", id="git"),
        pytest.param(archive, "files.lab:443", id="archive"),
        pytest.param(artifact, "registry.lab:443", id="artifact"),
    ],
)
Made = Callable[[Path], dict[str, Any]]
AUTHORITY = {"certificateAuthority": {"configMap": "lab-ca"}}


class Ended(NamedTuple):
    code: int
    said: str


@pytest.fixture
def fetch(tmp_path: Path, into: Path, authority: PrivateAuthority) -> Callable[[dict[str, Any]], Ended]:
    """Runs the container that fetches ``spec.code``, as in a pod; its exit code and last word."""

    def run(code: dict[str, Any]) -> Ended:
        mounts = Mounts(tmp_path / "none", tmp_path / "none", authority.file.parent)
        ended = main(json.dumps(code), into, mounts, tmp_path / "word")
        return Ended(ended, (tmp_path / "word").read_text())

    return run


Fetch = Callable[[dict[str, Any]], Ended]


@SOURCES
def test_code_is_fetched_from_a_server_of_a_private_authority_through_a_proxy(
    tmp_path: Path, into: Path, proxy: ConnectProxy, fetch: Fetch, made: Made, server: str
) -> None:
    assert fetch(made(tmp_path) | AUTHORITY).code == 0
    assert (into / "train.py").read_text() == "a = 1\n"
    assert proxy.servers == {server}


@SOURCES
def test_a_server_of_an_unknown_authority_is_refused_with_the_field_to_set(
    tmp_path: Path, proxy: ConnectProxy, fetch: Fetch, made: Made, server: str
) -> None:
    ended = fetch(made(tmp_path))
    assert ended.code == EXIT_USER_ERROR
    assert "no trusted certificate authority has signed the certificate of the server through the proxy" in ended.said
    assert "; set spec.code.certificateAuthority, or SSL_CERT_FILE for `collectorfleet run`" in ended.said
    assert proxy.servers == {server}


@pytest.mark.usefixtures("proxy")
def test_the_authorities_of_the_system_are_trusted_besides(
    tmp_path: Path, authority: PrivateAuthority, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = authority.file.rename(tmp_path / "system.crt")
    monkeypatch.setenv("SSL_CERT_FILE", str(system))
    PrivateAuthority(authority.file.parent, "Another CA")
    assert fetch(archive(tmp_path) | AUTHORITY).code == 0


def test_an_authority_may_have_one_above_that_nobody_names(
    tmp_path: Path, authority: PrivateAuthority, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuing = PrivateAuthority(authority.file.parent, "Issuing CA", above=authority)
    with files_served(tmp_path, issuing) as port, proxied({"files.lab:443": port}) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{proxy.port}")
        assert fetch(archive(tmp_path) | AUTHORITY).code == 0


def test_an_expired_certificate_is_the_servers_fault(
    tmp_path: Path, authority: PrivateAuthority, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    with files_served(tmp_path, authority, expired=True) as port, proxied({"files.lab:443": port}) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{proxy.port}")
        ended = fetch(archive(tmp_path) | AUTHORITY)
    assert ended.code == EXIT_INFRASTRUCTURE
    assert "certificate has expired" in ended.said


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lambda pem, der: der, id="DER"),
        pytest.param(lambda pem, der: b"", id="empty"),
        pytest.param(lambda pem, der: b"lab-ca", id="text"),
        pytest.param(lambda pem, der: pem[: len(pem) // 2], id="cut off"),
        pytest.param(lambda pem, der: pem + pem.replace(b"MII", b"AAA"), id="the second one is broken"),
    ],
)
def test_what_is_no_certificate_is_refused_with_its_field(
    tmp_path: Path, authority: PrivateAuthority, fetch: Fetch, content: Callable[[bytes, bytes], bytes]
) -> None:
    authority.file.write_bytes(content(authority.file.read_bytes(), authority.certificate.public_bytes(Encoding.DER)))
    assert fetch(archive(tmp_path) | AUTHORITY) == Ended(
        EXIT_USER_ERROR,
        "spec.code.certificateAuthority: ca.crt of ConfigMap lab-ca has no valid PEM certificate; use text that begins "
        "with -----BEGIN CERTIFICATE-----",
    )


def test_a_key_that_is_not_there_is_named(tmp_path: Path, fetch: Fetch) -> None:
    code = archive(tmp_path) | {"certificateAuthority": {"secret": "lab-tls", "key": "ca.pem"}}
    assert fetch(code) == Ended(
        EXIT_USER_ERROR,
        "spec.code.certificateAuthority: Secret lab-tls has no ca.pem; correct certificateAuthority.key",
    )


@pytest.mark.usefixtures("proxy")
def test_a_bundle_may_have_comments_of_any_characters(
    tmp_path: Path, authority: PrivateAuthority, fetch: Fetch
) -> None:
    authority.file.write_bytes("\ufeff# Główny urząd\r\n".encode() + authority.file.read_bytes())
    assert fetch(archive(tmp_path) | AUTHORITY).code == 0


def test_a_proxy_of_https_is_trusted_by_the_private_authority_too(
    tmp_path: Path, authority: PrivateAuthority, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        files_served(tmp_path, authority) as port,
        proxied({"files.lab:443": port}, authority.server_context("localhost")) as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", f"https://localhost:{proxy.port}")
        assert fetch(archive(tmp_path) | AUTHORITY).code == 0
        ended = fetch(archive(tmp_path))
    assert ended.code == EXIT_USER_ERROR
    assert f"through the proxy https://localhost:{proxy.port}: " in ended.said


def test_a_proxy_gets_the_password_of_its_address_and_messages_do_not(
    tmp_path: Path, proxy: ConnectProxy, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:not%40for-logs@127.0.0.1:{proxy.port}")
    assert fetch(archive(tmp_path) | AUTHORITY).code == 0
    login = base64.b64encode(b"me:not@for-logs").decode()
    assert {headers["Proxy-Authorization"] for _, headers in proxy.asked} == {f"Basic {login}"}
    elsewhere = {"archive": {"url": "https://elsewhere.lab/lab.zip", "sha256": "0" * 64}}
    assert fetch(elsewhere) == Ended(
        EXIT_INFRASTRUCTURE,
        f"InfrastructureError: spec.code.archive.url https://elsewhere.lab/lab.zip: not reachable through the proxy "
        f"http://127.0.0.1:{proxy.port}: Tunnel connection failed: 403 Forbidden",
    )
