"""What may pass is tried again; what would be answered the same again is said at once."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit

import pytest

from collectorfleet.errors import InfrastructureError, InvalidOption
from collectorfleet.run.code.bounds import Bounds
from collectorfleet.run.code.web import Web


@contextmanager
def answering(
    *statuses: int, body: bytes = b"tree", length: int | None = None, location: str = ""
) -> Iterator[tuple[str, list[Message]]]:
    """A server that answers with one status after the other, the last for ever; its address, and what it was asked."""
    asked: list[Message] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = statuses[min(len(asked), len(statuses) - 1)]
            asked.append(self.headers)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class names it so)
            """The test looks at what was asked."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/tree", asked
        server.shutdown()
        thread.join()


def fetched(url: str, refused: str = "") -> bytes:
    file = io.BytesIO()
    Web("lab", refused).download(url, file, Bounds("lab"))
    return file.getvalue()


def test_a_server_that_is_overloaded_for_a_moment_is_asked_again() -> None:
    with answering(503, 500, 200) as (url, asked):
        assert fetched(url) == b"tree"
        assert len(asked) == 3


def test_a_server_that_stays_broken_is_left_to_kubernetes() -> None:
    with answering(502) as (url, asked):
        with pytest.raises(InfrastructureError, match="lab: 502 Bad Gateway"):
            fetched(url)
        assert len(asked) == 5


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_says_what_to_do_and_is_not_tried_again(status: int) -> None:
    with answering(status) as (url, asked):
        with pytest.raises(InvalidOption, match=f"lab: {status} .*; name a Secret"):
            fetched(url, refused="name a Secret")
        assert len(asked) == 1


def test_too_many_requests_are_no_fault_of_the_manifest() -> None:
    with answering(429) as (url, _), pytest.raises(InfrastructureError, match="lab: 429 Too Many Requests"):
        fetched(url)


def test_an_answer_that_breaks_off_is_not_taken_for_the_whole() -> None:
    with (
        answering(200, length=100) as (url, _),
        pytest.raises(InfrastructureError, match=r"lab: not reachable: .*4 bytes"),
    ):
        fetched(url)


def test_another_server_that_we_are_sent_to_sees_no_password() -> None:
    with answering(200) as (storage, seen_there), answering(307, location=storage) as (url, seen):
        file = io.BytesIO()
        Web("lab").download(url, file, Bounds("lab"), {"Authorization": "Basic bWU6c2VjcmV0"})
    assert file.getvalue() == b"tree"
    assert [one["Authorization"] for one in seen] == ["Basic bWU6c2VjcmV0"]
    assert [one["Authorization"] for one in seen_there] == [None]


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[Message]]]:
    """A proxy that has every page, where nobody else has any; its address without a scheme, and what it was asked."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    with answering(200) as (url, asked):
        yield url.removeprefix("http://").removesuffix("/tree"), asked


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("scheme", ["", "http://", "http://me:secret@"], ids=["bare", "http", "with a user"])
def test_a_proxy_of_the_environment_is_asked_however_it_is_written(
    proxy: tuple[str, list[Message]], monkeypatch: pytest.MonkeyPatch, variable: str, scheme: str
) -> None:
    address, asked = proxy
    monkeypatch.setenv(variable, scheme + address)
    assert fetched("http://lab.invalid/tree") == b"tree"
    assert [one["Host"] for one in asked] == ["lab.invalid"]


@pytest.mark.parametrize("user", ["", "me:secret@"], ids=["nobody", "a user"])
def test_a_server_of_no_proxy_is_asked_directly(
    proxy: tuple[str, list[Message]], monkeypatch: pytest.MonkeyPatch, user: str
) -> None:
    address, asked = proxy
    monkeypatch.setenv("HTTP_PROXY", address)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with answering(200, body=b"from the server") as (url, _):
        assert fetched(url.replace("127.0.0.1", f"{user}127.0.0.1")) == b"from the server"
    assert asked == []


def test_a_proxy_that_is_none_for_http_is_refused_and_not_asked(
    proxy: tuple[str, list[Message]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, asked = proxy
    monkeypatch.setenv("HTTP_PROXY", f"socks5://me:secret@{address}")
    with pytest.raises(InvalidOption, match=r"HTTP_PROXY is socks5://127\.0\.0\.1, which is not supported"):
        fetched("http://lab.invalid/tree")
    assert asked == []


def test_a_redirect_to_a_server_behind_the_proxy_goes_through_it(
    proxy: tuple[str, list[Message]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, asked = proxy
    monkeypatch.setenv("HTTP_PROXY", address)
    monkeypatch.setenv("NO_PROXY", "127.0.0.0/8")
    with answering(307, location="http://storage.invalid/tree") as (url, _):
        assert fetched(url) == b"tree"
    assert [one["Host"] for one in asked] == ["storage.invalid"]


@pytest.mark.usefixtures("proxy")
def test_a_redirect_to_a_server_of_no_proxy_passes_the_proxy_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.0/8")
    with answering(200) as (storage, seen_there), answering(307, location=storage) as (redirects, seen):
        monkeypatch.setenv("HTTP_PROXY", f"http://me:secret@{urlsplit(redirects).netloc}")
        assert fetched("http://lab.invalid/tree") == b"tree"
    assert [one["Host"] for one in seen] == ["lab.invalid"]
    assert [(one["Host"], one["Proxy-Authorization"]) for one in seen_there] == [(urlsplit(storage).netloc, None)]
