"""What Argo CD's own command and kstatus say of the fleets that were recorded in real runs."""

from __future__ import annotations

import json

from tests.gitops.argocd import command
from tests.gitops.states import FOLDER, States, kstatus


def test_both_tools_say_what_was_recorded(states: States) -> None:
    """``make test`` holds the health script to the same, in a Lua machine of its own."""
    recorded = [json.loads(file.read_text()) for file in sorted(FOLDER.glob("*.json"))]
    fleets = [one["fleet"] for one in recorded]
    assert command.verdicts(fleets, states.folder) == [one["argocd"] for one in recorded]
    assert kstatus(fleets) == [one["kstatus"] for one in recorded]
