"""The wheel and the sdist of this tree, built once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.built_wheel import build
from tests.cluster.binaries import ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel; the sdist is beside it."""
    return build(ROOT, tmp_path_factory.mktemp("dist"))
