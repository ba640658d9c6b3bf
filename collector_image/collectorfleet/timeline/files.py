"""Read the timeline of a run from the file in the folder of its checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import ValidationError

from collectorfleet.regular_files import read_regular
from collectorfleet.stored_json import parse_json
from collectorfleet.timeline.timeline import Timeline

NAME: Final = "timeline.json"


def read(file: Path) -> Timeline | None:
    """Return the timeline in ``file``, or None if no file exists.

    Raises OSError, or ValueError for invalid content, a pipe or a device.
    """
    try:
        content = read_regular(file)
    except FileNotFoundError:
        return None
    try:
        return Timeline.from_wire(parse_json(content), ignore_unknown=True)
    except ValidationError as error:
        raise ValueError(f"{file}: {error.errors()[0]['msg']} at {error.errors()[0]['loc']}") from error
    except ValueError as error:  # no JSON, or no text
        raise ValueError(f"{file}: {error}") from error
