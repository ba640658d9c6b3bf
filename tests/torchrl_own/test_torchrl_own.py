"""TorchRL's own tests of its distributed collectors pass with ours in their place."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT

pytestmark = pytest.mark.timeout(3600)

_PLUGIN = "tests.torchrl_own.in_its_place"
# How many there are in TorchRL 0.14: fewer that pass are some that were not asked.
DISTRIBUTED, COLLECTORS = 52, 8
# One of them leaves itself out, for a class that is sync.
OTHERS, LEFT_OUT = 61, 1


@pytest.mark.parametrize(
    ("file", "which", "number", "skipped"),
    [
        pytest.param(
            "test_distributed.py", "TestRayCollector or TestRayTrajsPerBatch", DISTRIBUTED, 0, id="distributed"
        ),
        pytest.param(
            "test_distributed.py",
            "TestDistributedCollector or TestRPCCollector or TestSyncCollector",
            OTHERS,
            LEFT_OUT,
            id="other transports",
        ),
        pytest.param("test_collectors.py", "(ray and not array) or divergences", COLLECTORS, 0, id="collectors"),
    ],
)
def test_torchrls_own_tests_pass_with_fleet_collector_in_its_place(
    their_tests: Path, tmp_path: Path, file: str, which: str, number: int, skipped: int
) -> None:
    result = tmp_path / "result.xml"
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        os.devnull,
        f"--rootdir={their_tests}",
        "-p",
        _PLUGIN,
        file,
        "-k",
        which,
    ]
    options = ["-q", "-p", "no:cacheprovider", "--timeout=300", f"--junitxml={result}"]
    # Their workers import the module of the tests from its folder, and nothing of this project's but what is installed.
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{Path(__file__).parent / 'every_process'}"}
    done = subprocess.run([*words, *options], cwd=their_tests, env=env, check=False)
    counts = next(ET.parse(result).getroot().iter("testsuite")).attrib
    assert done.returncode == 0, counts
    assert (int(counts["tests"]), int(counts["skipped"])) == (number, skipped)
