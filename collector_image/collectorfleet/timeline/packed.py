"""A timeline as a ConfigMap holds it: compressed, and of a size that costs the API server little. Pure."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Final

from pydantic import ValidationError

from collectorfleet.timeline.evaluations import halved
from collectorfleet.timeline.timeline import Timeline

# Of 1 MiB that an object may have. Most timelines are a tenth of it.
MOST_BYTES: Final = 100_000
_MOST_BYTES_OF_CONFIGURATIONS: Final = 30_000


def pack(timeline: Timeline) -> bytes:
    """Return at most 100 kB. A timeline that does not fit loses every second point and evaluation, and the older half
    of the rest.

    Earlier configurations are left out beyond 30 kB, the oldest first, and then the newest one, which the fleet has.
    """
    timeline = _with_few_configurations(timeline)
    packed = _compressed(timeline)
    while len(packed) > MOST_BYTES:
        timeline = _halved(timeline)
        packed = _compressed(timeline)
    return packed


def unpack(packed: bytes) -> Timeline:
    """Raises ValueError if it is no timeline."""
    try:
        return Timeline.from_wire(json.loads(gzip.decompress(packed)), ignore_unknown=True)
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
    """The first and the newest point stay."""
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
