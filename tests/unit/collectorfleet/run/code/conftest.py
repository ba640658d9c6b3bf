"""Servers of trees on loopback, and a folder to put trees into."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from collectorfleet.run.code import web


@pytest.fixture(autouse=True)
def tries_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "_BACKOFF_SECONDS", 0)


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[str]:
    """A server of the files in the test's folder; its address."""
    with HTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "into"
    folder.mkdir()
    return folder
