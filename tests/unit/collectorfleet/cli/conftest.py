"""Played API servers, and kubeconfigs that name them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.manifests import manifest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.faults import Said
from tests.unit.collectorfleet.cli.played_api import NAME, ApiServer, Request

from collectorfleet.client.connection import CheckedClient


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """The cluster of the current context."""
    with played_api.served() as server:
        monkeypatch.setenv("KUBECONFIG", played_api.written(tmp_path, played_api.kubeconfig(server.url)))
        yield server


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    """An API server for the tests of a module."""
    with played_api.served() as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ApiServer) -> Path:
    """A folder with code and a kubeconfig, in which the command is given."""
    server.answer, server.fleet = Request.serve, played_api.FLEET
    server.requests.clear()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/fleet.yaml").write_text(json.dumps(manifest(name=NAME)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", played_api.written(tmp_path, played_api.kubeconfig(server.url)))
    return tmp_path


@pytest.fixture
def impatient(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits 30 s for a server that is slow; a request without a timeout keeps none."""
    send = CheckedClient.call_api

    def hurried(self: CheckedClient, *words: Any, **options: Any) -> Any:
        return send(self, *words, **{**options, "_request_timeout": options["_request_timeout"] and 0.1})

    if "slow server" in request.node.name:
        monkeypatch.setattr(CheckedClient, "call_api", hurried)


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Iterator[Said]:
    """What was printed; also by loggers that nobody configured."""
    handlers = logging.root.handlers[:]
    logging.root.handlers.clear()
    yield lambda: tuple(capfd.readouterr())
    logging.root.handlers[:] = handlers
