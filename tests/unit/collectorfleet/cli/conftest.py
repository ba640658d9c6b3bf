"""A played API server, and the kubeconfig that names it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.played_api import ApiServer


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """The cluster of the current context."""
    with played_api.served() as server:
        monkeypatch.setenv("KUBECONFIG", played_api.written(tmp_path, played_api.kubeconfig(server.url)))
        yield server
