"""A fork is what Python would be that was started with the same words."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.forks.program import Program, run

PROGRAM = """
import json, os, sys
import helper
print(json.dumps([sys.argv, __name__, os.getcwd(), os.environ["WHO"], helper.__file__, sys.stdin.read()]))
print(sorted(set(sys.path)), file=sys.stderr)
sys.exit(3)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "helper.py").touch()
    return tmp_path


@pytest.mark.parametrize("words", [["program.py", "--one"], ["-m", "program", "--one"]], ids=["file", "module"])
def test_words_environment_folder_files_and_exit_code_are_its_own(folder: Path, words: list[str]) -> None:
    options: dict[str, Any] = {"env": {"WHO": "me", "PYTHONPATH": str(folder / "elsewhere")}, "cwd": folder}
    options |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, *words], **options) as plain:
        wanted = plain.communicate("said", timeout=60)
    with Program(words, **options) as forked:
        assert forked.communicate("said", timeout=60) == wanted
    assert forked.returncode == plain.returncode == 3


def test_a_signal_ends_it_and_it_is_waited_for_once_or_more(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(600)\n")
    with Program([tmp_path / "waits.py"], stdout=subprocess.PIPE, text=True) as waits:
        assert waits.stdout
        assert waits.stdout.readline() == "begun\n"
        assert waits.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            waits.wait(0.01)
        waits.send_signal(signal.SIGKILL)
        assert (waits.wait(30), waits.wait(), waits.poll()) == (-signal.SIGKILL,) * 3


def test_an_error_is_on_its_stderr_and_is_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("import atexit\natexit.register(print, 'ended')\nraise ValueError('no')\n")
    done = run([tmp_path / "fails.py"], timeout=30)
    assert (done.returncode, done.stdout) == (1, "ended\n")
    assert done.stderr.endswith("ValueError: no\n")


def test_torch_is_there_and_ray_is_not(tmp_path: Path) -> None:
    (tmp_path / "imported.py").write_text("import sys\nprint([name in sys.modules for name in ('torch', 'ray')])\n")
    assert run([tmp_path / "imported.py"], timeout=30).stdout == "[True, False]\n"
