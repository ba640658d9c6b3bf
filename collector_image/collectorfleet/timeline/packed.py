"""Compress a timeline for a ConfigMap, to a size that is a small load for the API server. Pure."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Final

from pydantic import ValidationError

from collectorfleet.stored_json import parse_json
from collectorfleet.timeline.evaluations import halved
from collectorfleet.timeline.timeline import Timeline

# A Kubernetes object may have 1 MiB. Most packed timelines need a tenth of ``MOST_BYTES``.
MOST_BYTES: Final = 100_000
_MOST_BYTES_OF_CONFIGURATIONS: Final = 30_000


def pack(timeline: Timeline) -> bytes:
    """Return the compressed timeline, at most 100 kB.

    A timeline that does not fit loses every second point and evaluation, and the older half of events and states.
    All configurations together may take 30 kB. If they take more, earlier configurations are left out, the oldest
    first. If the newest configuration alone takes more, it is left out, too. The fleet's spec still has it.
    """
    timeline = _with_few_configurations(timeline)
    packed = _compressed(timeline)
    while len(packed) > MOST_BYTES:
        timeline = _halved(timeline)
        packed = _compressed(timeline)
    return packed


def unpack(packed: bytes) -> Timeline:
    """Return the timeline in ``packed``. Raises ValueError if ``packed`` has no timeline."""
    try:
        return Timeline.from_wire(parse_json(gzip.decompress(packed)), ignore_unknown=True)
    except ValidationError as error:
        raise ValueError(f"{error.errors()[0]['msg']} at {error.errors()[0]['loc']}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from error


def _compressed(timeline: Timeline) -> bytes:
    text = json.dumps(timeline.to_wire(), separators=(",", ":"))
    return gzip.compress(text.encode(), mtime=0)


def _with_few_configurations(timeline: Timeline) -> Timeline:
    while _bytes_of_configurations(timeline) > _MOST_BYTES_OF_CONFIGURATIONS:
        change: dict[str, object] = {"earlier": timeline.earlier[1:]} if timeline.earlier else {"configuration": None}
        timeline = timeline.model_copy(update=change)
    return timeline


def _bytes_of_configurations(timeline: Timeline) -> int:
    kept = Timeline(fleet="", began=0.0, configuration=timeline.configuration, earlier=timeline.earlier)
    return len(_compressed(kept))


def _halved(timeline: Timeline) -> Timeline:
    """Return about half of the timeline, with its first and its newest point."""
    count = len(timeline.times)
    kept = [*range(0, count - 1, 2), *([count - 1] if count else [])]
    left_out = len(timeline.happened) // 2
    return timeline.model_copy(
        update={
            "times": [timeline.times[i] for i in kept],
            "series": {name: [values[i] for i in kept] for name, values in timeline.series.items()},
            "every": 2 * timeline.every,
            "lives": {name: spans[len(spans) // 2 :] for name, spans in timeline.lives.items()},
            "evaluations": halved(timeline.evaluations),
            "happened": timeline.happened[left_out:],
            "left_out": timeline.left_out + left_out,
        }
    )
