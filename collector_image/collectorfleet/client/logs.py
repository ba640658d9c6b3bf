"""Parser of a fleet's log.

Ray copies the collectors' output to the driver's log, with a prefix that names its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

DRIVER: Final = "driver"
# Ray's prefix has the actor's name and process. If the actor runs on another node than the driver, the prefix also has
# this node.
_OF_AN_ACTOR: Final = re.compile(
    r"^(?:\x1b\[\d+m)*\((?P<name>\S+) pid=\d+(?:, ip=[^)]*)?\)(?:\x1b\[\d+m)* ?(?P<text>.*)$"
)


@dataclass(frozen=True)
class LogLine:
    """A line and its source: ``driver``, or a collector such as ``c0``."""

    source: str
    text: str


def read_lines(chunks: Iterable[bytes]) -> Iterator[LogLine]:
    """Yield the lines of a log that arrives in chunks."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from map(line, whole)
    if rest:
        yield line(rest)


def line(raw: bytes) -> LogLine:
    """Parse one line of a log. If the line has no prefix of Ray, its source is the driver."""
    text = raw.decode(errors="replace").rstrip("\r")
    found = _OF_AN_ACTOR.match(text)
    return LogLine(found["name"], found["text"]) if found else LogLine(DRIVER, text)
