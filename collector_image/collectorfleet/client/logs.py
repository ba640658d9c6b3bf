"""What a fleet prints. The driver's log has what collectors print, too: Ray brings it there and says whose it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

DRIVER: Final = "driver"
# Ray's prefix: the name of an actor, its process, and the node where it is not this one.
_OF_AN_ACTOR: Final = re.compile(
    r"^(?:\x1b\[\d+m)*\((?P<name>\S+) pid=\d+(?:, ip=[^)]*)?\)(?:\x1b\[\d+m)* ?(?P<text>.*)$"
)


@dataclass(frozen=True)
class LogLine:
    """A line and who printed it: ``driver``, or a collector such as ``c0``."""

    source: str
    text: str


def read_lines(chunks: Iterable[bytes]) -> Iterator[LogLine]:
    """Lines out of the pieces in which a log arrives."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from map(line, whole)
    if rest:
        yield line(rest)


def line(raw: bytes) -> LogLine:
    text = raw.decode(errors="replace").rstrip("\r")
    found = _OF_AN_ACTOR.match(text)
    return LogLine(found["name"], found["text"]) if found else LogLine(DRIVER, text)
