"""Whom a line of the operator's log is about."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from collectorfleet_api.log_lines import LogFormat
from collectorfleet_operator.edge.logs import lines_are_about, log_to
from collectorfleet_operator.objects import Key


@contextmanager
def logged(format_: LogFormat) -> Iterator[io.StringIO]:
    root, stream = logging.getLogger(), io.StringIO()
    before, level, kopfs = root.handlers[:], root.level, logging.getLogger("kopf").level
    log_to(stream, format_, verbose=True)
    try:
        yield stream
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        logging.getLogger("kopf").setLevel(kopfs)


def test_lines_of_two_fleets_at_once_name_each_its_own_and_others_none() -> None:
    async def look(key: Key) -> None:
        lines_are_about(key)
        await asyncio.sleep(0)
        logging.getLogger("somewhere.else").warning("looked at %s", key.name)

    async def scenario() -> None:
        await asyncio.gather(*(asyncio.create_task(look(Key("lab", name))) for name in ("a", "b")))
        logging.getLogger("operator").info("stopped")

    with logged(LogFormat.JSON) as stream:
        asyncio.run(scenario())
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["message"], line.get("namespace"), line.get("fleet")) for line in lines] == [
        ("looked at a", "lab", "a"),
        ("looked at b", "lab", "b"),
        ("stopped", None, None),
    ]
