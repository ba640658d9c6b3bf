"""What is missing to build the tools of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster import binaries


@pytest.mark.parametrize(
    ("programs", "missing"),
    [
        pytest.param(["go", "gcc"], None, id="both are there"),
        pytest.param(["go"], "gcc is not installed", id="no gcc"),
        pytest.param(["gcc"], "Go is not installed", id="no Go"),
    ],
)
def test_a_tool_with_parts_in_c_needs_go_and_gcc(
    programs: list[str], missing: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    for program in programs:
        (tmp_path / program).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = binaries.missing([binaries.VALE])
    assert reason is None if missing is None else missing in str(reason)
    # The others are pure Go.
    assert ("go" in programs) == (binaries.missing([binaries.ACTIONLINT]) is None)
