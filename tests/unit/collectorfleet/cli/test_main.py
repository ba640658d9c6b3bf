"""The entry point, which answers at once where it needs no fleet."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.cluster.binaries import ROOT


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["validate", "examples/cartpole.yaml"]], ids=" ".join)
def test_help_and_validation_import_neither_torch_nor_ray(words: list[str]) -> None:
    code = (
        "import sys; from collectorfleet.cli.main import main\n"
        f"try: main({words!r})\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'ray', 'kubernetes', 'rich'} & sys.modules.keys()\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}/crds:{ROOT}/operator:{ROOT}/collector_image"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
