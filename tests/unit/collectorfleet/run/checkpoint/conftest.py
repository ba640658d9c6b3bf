"""A run whose checkpoints a test writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.collectorfleet.run.checkpoint.played_training import Training


@pytest.fixture
def training(tmp_path: Path) -> Training:
    return Training(tmp_path / "checkpoints")
