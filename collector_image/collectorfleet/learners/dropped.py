"""The policies whose frames a replay actor drops when it restarts from its checkpoint, as a JSON file.

The replay actor writes this file beside its checkpoint. Without this file, each removal of a policy would have to write
all frames of the other policies. A driver that resumes from the checkpoint ignores this file, because it also resumes
the policies that were removed after the checkpoint.

The file has the number of a checkpoint for each policy. Frames of the policy in later checkpoints belong to a new
policy of the same id::

    {"exploiter": 3}
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from collectorfleet.durable_files import write_json
from collectorfleet.stored_json import parse_json


def add_dropped(replay_file: Path, policy_id: str, number: int) -> None:
    """Record that an actor drops the frames of this policy if it restarts from a checkpoint up to ``number``.

    Raises OSError.
    """
    write_json(_file(replay_file), {**dropped(replay_file), policy_id: number})


def dropped(replay_file: Path) -> dict[str, int]:
    """Return for each removed policy the number of the last checkpoint that may have its frames."""
    file = _file(replay_file)
    return dict(parse_json(file.read_text())) if file.exists() else {}


def end_dropped(replay_file: Path) -> None:
    """Remove the file, because a new checkpoint has no frames of these policies.

    An OSError is ignored, because the file has no effect on a new checkpoint.
    """
    with suppress(OSError):
        _file(replay_file).unlink(missing_ok=True)


def _file(replay_file: Path) -> Path:
    return replay_file.with_suffix(".dropped.json")
