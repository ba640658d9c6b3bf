"""Odd answers of a registry, and how the client reads them."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code.bounds import Bounds
from collectorfleet.run.code.registry import Reference, Registry


class Door(BaseHTTPRequestHandler):
    """A registry that asks for a token, with 90 long headers."""

    def do_HEAD(self) -> None:
        self.send_response(401)
        for _ in range(90):
            self.send_header("WWW-Authenticate", f"Bearer {'a' * 60_000}")  # with backtracking, hours
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class names it so)
        """Print no request."""


def test_an_odd_challenge_of_a_registry_is_refused_at_once(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Door) as server, (tmp_path / "manifest").open("wb") as file:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        reference = Reference.of(f"127.0.0.1:{server.server_port}/lab@sha256:{'0' * 64}")
        try:
            with pytest.raises(InvalidOption, match="names the token server"):
                Registry(reference, "lab", None, None, None).manifest(file, Bounds("lab"))
        finally:
            server.shutdown()
            thread.join()
