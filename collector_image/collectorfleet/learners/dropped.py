"""The policies whose frames a replay actor drops when it restarts from a checkpoint, as a JSON file beside the index.

Without this file, each removal of a policy would have to write all frames of the other policies. A driver that resumes
from the checkpoint ignores this file, because it also resumes the policies that were removed after the checkpoint.

The file has the number of its checkpoint, and the policies by shard. It has no effect on another checkpoint::

    {"checkpoint": 3, "policies": {"0": ["exploiter"]}}
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from collectorfleet.durable_files import write_json
from collectorfleet.learners.record import DROPPED, read_own_record
from collectorfleet.stored_json import parse_json


def add_dropped(folder: Path, removed: Collection[tuple[str, int]]) -> None:
    """Record that replay actors drop frames if they restart before the next checkpoint.

    ``removed`` has the id of each policy and the index of the shard that has its frames. Raises OSError, and
    InvalidOption if the content of the index is wrong.
    """
    number = read_own_record(folder).number
    rows = _rows(folder, number)
    for policy_id, shard in sorted(removed):
        rows[str(shard)] = list(dict.fromkeys([*rows.get(str(shard), []), policy_id]))
    write_json(folder / DROPPED, {"checkpoint": number, "policies": rows})


def dropped(folder: Path, shard: int, number: int) -> list[str]:
    """Return the policies whose frames were dropped after checkpoint ``number``, or after the start if it is 0."""
    return _rows(folder, number).get(str(shard), [])


def _rows(folder: Path, number: int) -> dict[str, list[str]]:
    try:
        found = parse_json((folder / DROPPED).read_text())
    except FileNotFoundError:
        return {}
    return dict(found["policies"]) if found["checkpoint"] == number else {}
