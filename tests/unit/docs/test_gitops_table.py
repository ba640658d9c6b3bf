"""The table of docs/gitops.md is made from what the tests saw."""

from __future__ import annotations

from pathlib import Path

from tests.gitops.seen import Seen


def test_what_two_tools_show_of_one_thing_is_one_row(tmp_path: Path) -> None:
    seen = Seen()
    seen.add("Argo CD", "a run that completes", "Synced, Healthy", "the driver finished")
    seen.add("Argo CD", "the fleet is removed", "Synced")
    seen.add("Flux", "a run that completes", "Ready=True")
    page = tmp_path / "gitops.md"
    page.write_text("before\n<!-- written by make test-gitops -->\nold\n<!-- end of what it wrote -->\nafter\n")
    seen.write(page)
    written = page.read_text()
    assert "| what happens | Argo CD | Flux |" in written
    assert "| a run that completes | Synced, Healthy | Ready=True |" in written
    assert "| the fleet is removed | Synced | - |" in written
    assert "old" not in written
    assert written.startswith("before\n")
    assert written.endswith("after\n")
