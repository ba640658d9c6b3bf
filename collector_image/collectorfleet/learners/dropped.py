"""The policies whose frames a replay actor drops when it restarts from its checkpoint, as a JSON file.

The file is beside the checkpoint of the replay actor. Without this file, each removal of a policy would have to write
all frames of the other policies. A driver that resumes from the checkpoint ignores this file, because it also resumes
the policies that were removed after the checkpoint.
"""

from __future__ import annotations

from pathlib import Path

from collectorfleet.durable_files import write_json
from collectorfleet.stored_json import parse_json


def add_dropped(replay_file: Path, policy_id: str) -> None:
    """Record that a restarted replay actor drops the frames of this policy. Raises OSError."""
    write_json(_file(replay_file), sorted({*dropped(replay_file), policy_id}))


def dropped(replay_file: Path) -> list[str]:
    """Return the policies whose frames a restarted replay actor drops."""
    file = _file(replay_file)
    return [str(policy_id) for policy_id in parse_json(file.read_text())] if file.exists() else []


def end_dropped(replay_file: Path) -> None:
    """Remove the list, because a new checkpoint has no frames of these policies."""
    _file(replay_file).unlink(missing_ok=True)


def _file(replay_file: Path) -> Path:
    return replay_file.with_suffix(".dropped.json")
