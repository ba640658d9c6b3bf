"""Removes values from the lines of a watch if the values are nested too deeply for kopf's decoder."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

from collectorfleet_api.nesting import MAX_LEVELS, exceeds_depth
from collectorfleet_operator.edge.readable import event_of


class ReadableLines:
    """A wrapper of an answer's content. :meth:`iter_chunked` yields whole lines.

    All other attributes are those of the wrapped content.
    """

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        rest = b""
        async for piece in self._content.iter_chunked(size):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield _readable(line) + b"\n"
        if rest:
            yield rest


def _readable(line: bytes) -> bytes:
    # The object is one level below its event.
    return json.dumps(event_of(line)).encode() if exceeds_depth(line, MAX_LEVELS + 1) else line
