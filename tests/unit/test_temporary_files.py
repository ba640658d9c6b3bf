"""The temporary files of a test run are in one folder, which the run removes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT

pytest_plugins = ["pytester"]

MAKES_A_FILE = "import tempfile\ndef test_it():\n    path = tempfile.mkdtemp()\n    print(f'made <{path}>')\n"


def test_temporary_files_of_a_process_are_in_the_folder_of_the_session() -> None:
    words = [sys.executable, "-c", "import tempfile; print(tempfile.mkdtemp())"]
    made = Path(subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip())
    assert made.parent == Path(tempfile.gettempdir())
    assert made.parent.name.startswith("cf-")
    made.rmdir()


@pytest.mark.parametrize("passes", [True, False])
def test_a_session_removes_its_folder_unless_a_test_failed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, passes: bool
) -> None:
    file = pytester.makepyfile(f"{MAKES_A_FILE}    assert {passes}\n")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = pytester.runpytest_subprocess("-p", "tests.conftest", "-s", file)
    said = done.stdout.str()
    made = re.search("made <(.*)>", said)
    assert made is not None
    folder = Path(made[1]).parent
    assert (f"temporary files of the failed tests: {folder}" in said) != passes
    assert folder.exists() != passes
    shutil.rmtree(folder, ignore_errors=True)
