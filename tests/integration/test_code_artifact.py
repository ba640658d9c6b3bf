"""Trees in a real registry, pushed as Flux, ORAS and builders of images do, or one sentence that says why not."""

from __future__ import annotations

import base64
import hashlib
import http.client
import io
import json
import subprocess
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.cluster import binaries
from tests.images import registry

from collectorfleet.errors import InfrastructureError, InvalidOption
from collectorfleet.run.code import bounds, web
from collectorfleet.run.code.artifact import write_tree
from collectorfleet_api.v1alpha1 import Artifact, LocalObjectReference

OCI = "application/vnd.oci.image.manifest.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
FLUX_LAYER = "application/vnd.cncf.flux.content.v1.tar+gzip"
PASSWORD, TOKEN = "not-for-logs", "a-token"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The ``host:port`` of a registry on loopback."""
    if reason := binaries.missing([binaries.CRANE]):
        pytest.skip(f"left out the tests of trees in a registry: {reason}")
    with registry.served("127.0.0.1", tmp_path_factory.mktemp("registry") / "log") as address:
        yield address


@pytest.fixture(autouse=True)
def tries_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "_BACKOFF_SECONDS", 0)


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


def packed(**files: str) -> bytes:
    """A tar of Python files, compressed."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tree:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tree.addfile(member, io.BytesIO(text.encode()))
    return made.getvalue()


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes


def asked(host: str, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
    with closing(http.client.HTTPConnection(host)) as connection:
        connection.request(method, path, body, {key.replace("_", "-"): value for key, value in headers.items()})
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read())


def push_blob(host: str, content: bytes) -> str:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    begun = asked(host, "POST", "/v2/lab/blobs/uploads/")
    assert asked(host, "PUT", f"{begun.headers['Location']}?digest={digest}", content).status == 201
    return digest


def push(host: str, *layers: bytes, kind: str = LAYER, **annotations: str) -> str:
    """Push an artifact of those layers; returns what to write as its reference."""
    described = [
        {"mediaType": kind, "digest": push_blob(host, one), "size": len(one), "annotations": annotations}
        for one in layers
    ]
    config = {"mediaType": "application/vnd.oci.empty.v1+json", "digest": push_blob(host, b"{}"), "size": 2}
    return push_manifest(host, {"schemaVersion": 2, "mediaType": OCI, "config": config, "layers": described})


def push_manifest(host: str, manifest: dict[str, Any]) -> str:
    content = json.dumps(manifest).encode()
    answer = asked(host, "PUT", "/v2/lab/manifests/latest", content, Content_Type=manifest["mediaType"])
    assert answer.status == 201, answer.content
    return f"{host}/lab@sha256:{hashlib.sha256(content).hexdigest()}"


def put_anonymously(reference: str, folder: Path) -> str:
    return write_tree(Artifact(reference=reference), None, folder)


def files_of(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("kind", "annotations"),
    [
        pytest.param(FLUX_LAYER, {}, id="flux push artifact"),
        pytest.param(
            LAYER, {"org.opencontainers.image.title": "src", "io.deis.oras.content.unpack": "true"}, id="oras push"
        ),
    ],
)
def test_an_artifact_is_unpacked_and_its_digest_told(
    host: str, into: Path, kind: str, annotations: dict[str, str]
) -> None:
    reference = push(host, packed(**{"lab/envs.py": "a = 1\n"}), kind=kind, **annotations)
    assert put_anonymously(reference, into) == reference.partition("@")[2]
    assert files_of(into) == {"lab/envs.py": "a = 1\n"}


def test_an_image_is_what_its_layers_leave(host: str, tmp_path: Path, into: Path) -> None:
    """As ``crane append`` makes it, each layer over those below, some of whose files it takes away."""
    layers = [
        packed(**{"a.py": "a = 1\n", "b.py": "b = 1\n", "old/c.py": "c = 1\n", "kept/d.py": "d = 1\n"}),
        packed(**{"a.py": "a = 2\n", ".wh.b.py": "", ".wh.old": "", "kept/.wh..wh..opq": "", "kept/e.py": "e = 2\n"}),
    ]
    words = [binaries.build(binaries.CRANE) / "crane", "append", "--insecure", f"--new_tag={host}/lab:image"]
    for i, layer in enumerate(layers):
        (tmp_path / f"{i}.tar.gz").write_bytes(layer)
        words.append(f"--new_layer={tmp_path / f'{i}.tar.gz'}")
    said = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout.strip()
    put_anonymously(f"{host}/lab@{said.partition('@')[2]}", into)
    assert files_of(into) == {"a.py": "a = 2\n", "kept/e.py": "e = 2\n"}


def test_an_index_names_the_images_in_it(host: str, into: Path) -> None:
    inner = push(host, packed(**{"a.py": ""})).partition("@")[2]
    size = int(asked(host, "HEAD", f"/v2/lab/manifests/{inner}").headers["Content-Length"])
    platform = {"os": "linux", "architecture": "amd64"}
    described = {"mediaType": OCI, "digest": inner, "size": size, "platform": platform}
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [described],
    }
    with pytest.raises(
        InvalidOption, match=rf"an index of several artifacts; use the digest of one of them: {inner} \(linux/amd64\)"
    ):
        put_anonymously(push_manifest(host, index), into)


def test_what_is_no_tree_is_refused(host: str, into: Path) -> None:
    with pytest.raises(InvalidOption, match=r"/lab@sha256:[0-9a-f]{64}: the archive cannot be unpacked"):
        put_anonymously(push(host, b"a = 1\n"), into)


def test_a_link_out_of_the_tree_is_refused(host: str, into: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tree:
        link = tarfile.TarInfo("envs.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tree.addfile(link)
    with pytest.raises(InvalidOption, match=r"cannot be unpacked: .*envs\.py"):
        put_anonymously(push(host, made.getvalue()), into)


def test_the_bounds_hold_for_all_layers_together(host: str, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_FILES", 1)
    with pytest.raises(InvalidOption, match="2 files of 4 bytes unpacked exceed the limit of 1"):
        put_anonymously(push(host, packed(**{"a.py": "a\n"}), packed(**{"b.py": "b\n"})), into)


def test_a_digest_that_is_not_there_and_a_registry_that_is_away_differ(host: str, into: Path) -> None:
    with pytest.raises(InvalidOption, match=r"/lab@sha256:0{64}: 404 Not Found"):
        put_anonymously(f"{host}/lab@sha256:{'0' * 64}", into)
    with pytest.raises(InfrastructureError, match=r"127\.0\.0\.1:9/lab@sha256:0{64}: not reachable: .*refused"):
        put_anonymously(f"127.0.0.1:9/lab@sha256:{'0' * 64}", into)


@contextmanager
def guarded(host: str, *, spoiled: bool = False) -> Iterator[str]:
    """The registry at ``host`` behind a door that takes a token, which is to be had for a password.

    ``spoiled``: what comes out was changed on its way.
    """

    class Door(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            said = self.headers.get("Authorization", "")
            if address.path == "/token":
                assert parse_qs(address.query) == {"service": ["lab"], "scope": ["repository:lab:pull"]}
                allowed = said == f"Basic {base64.b64encode(f'me:{PASSWORD}'.encode()).decode()}"
                self._answer(200 if allowed else 401, json.dumps({"token": TOKEN}).encode())
            elif said != f"Bearer {TOKEN}":
                realm = f"http://{self.headers['Host']}/token"
                self._answer(401, b"", f'Bearer realm="{realm}",service="lab",scope="repository:lab:pull"')
            else:
                behind = asked(host, self.command, self.path, Accept=self.headers.get("Accept", ""))
                self._answer(behind.status, behind.content[::-1] if spoiled else behind.content)

        def _answer(self, status: int, content: bytes, challenge: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            if challenge:
                self.send_header("WWW-Authenticate", challenge)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class names it so)
            """The tests look at what comes back."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def secret(folder: Path, auths: dict[str, Any]) -> Path:
    (folder / ".dockerconfigjson").write_text(json.dumps({"auths": auths}))
    return folder


def test_a_private_registry_gives_a_token_to_the_user_of_the_secret(host: str, tmp_path: Path, into: Path) -> None:
    digest = push(host, packed(**{"a.py": "a = 1\n"})).partition("@")[2]
    with guarded(host) as door:
        anonymous = Artifact(reference=f"{door}/lab@{digest}")
        with pytest.raises(
            InvalidOption, match=r"401 Unauthorized; the artifact is private or does not exist; .*a Secret in"
        ):
            write_tree(anonymous, None, into)
        private = anonymous.model_copy(update={"credentials_secret": LocalObjectReference(name="ghcr")})
        login = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
        assert write_tree(private, secret(tmp_path, {f"https://{door}": {"auth": login}}), into) == digest
        assert files_of(into) == {"a.py": "a = 1\n"}
        with pytest.raises(
            InvalidOption, match="401 Unauthorized; the registry rejects the credentials of Secret ghcr"
        ):
            write_tree(private, secret(tmp_path, {door: {"username": "me", "password": "wrong"}}), into)
        with pytest.raises(InvalidOption, match=rf"Secret ghcr has no credentials for {door}, only for ghcr\.io"):
            write_tree(private, secret(tmp_path, {"ghcr.io": {"auth": login}}), into)


def test_what_was_changed_on_its_way_is_not_unpacked(host: str, tmp_path: Path, into: Path) -> None:
    digest = push(host, packed(**{"a.py": "a = 1\n"})).partition("@")[2]
    with guarded(host, spoiled=True) as door:
        artifact = Artifact(reference=f"{door}/lab@{digest}", credentials_secret=LocalObjectReference(name="ghcr"))
        with pytest.raises(InvalidOption, match=f"the registry sent sha256:[0-9a-f]{{64}} instead of {digest}"):
            write_tree(artifact, secret(tmp_path, {door: {"username": "me", "password": PASSWORD}}), into)
    assert list(into.iterdir()) == []
