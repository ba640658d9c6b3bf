"""`make check` prints what it leaves out, and the list is true."""

from __future__ import annotations

import ast
import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from tests import quick
from tests.cluster.binaries import ROOT

pytest_plugins = ["pytester"]


def functions_of(folder: Path) -> set[str]:
    trees = [ast.parse(file.read_text()) for file in folder.rglob("test_*.py")]
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_name_on_the_list_is_the_name_of_a_unit_test() -> None:
    assert quick.SLOW - functions_of(ROOT / "tests/unit") == set()


def test_the_summary_names_each_slow_test() -> None:
    lines = {line.strip() for line in quick.summary().splitlines()}
    assert lines >= quick.SLOW


def test_each_folder_of_make_test_is_run_by_make_check_or_named_as_left_out() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = set(project["tool"]["pytest"]["ini_options"]["testpaths"])
    # Without the flags of the make that runs this test.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    words = ["make", "--dry-run", "check-parts"]
    printed = subprocess.run(words, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout
    commands = [line.split() for line in printed.splitlines() if " -m pytest " in line]
    assert commands
    assert all("--quick" in command for command in commands)
    run = {folder for folder in folders if any(folder in command for command in commands)}
    narrowed = {folder for folder in folders if any({folder, "-k"} <= {*command} for command in commands)}
    left_out = {folder.partition(" ")[0] for folder in quick.FOLDERS}
    assert run >= {"tests/unit"}
    assert left_out == folders - run | narrowed
    assert set(quick.FOLDERS) <= {line.strip() for line in quick.summary().splitlines()}


def test_quick_leaves_out_a_slow_test_with_all_its_parameters_and_no_other(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = min(quick.SLOW)
    file = pytester.makepyfile(
        f"import pytest\n"
        f"@pytest.mark.parametrize('number', [1, 2])\n"
        f"def {slow}(number): pass\n"
        f"def {slow}_besides(): pass\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    words = ["-p", "tests.conftest", "--collect-only", "-q", "--import-mode=importlib", str(file)]
    assert f"{slow}[1]" in pytester.runpytest_subprocess(*words).stdout.str()
    result = pytester.runpytest_subprocess("--quick", *words)
    result.stdout.fnmatch_lines(["*1/3 tests collected (2 deselected)*"])
    assert f"{slow}_besides" in result.stdout.str()
