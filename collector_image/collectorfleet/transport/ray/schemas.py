"""The schema of rollouts travels once: the actor leaves it out of an answer, the driver fills it in again.

It is as large as a small rollout, and the same for all of them unless shapes change. A request says which one the
driver has, so an answer that was lost, and its schema with it, loses nothing else.
"""

from __future__ import annotations

from dataclasses import replace

from collectorfleet.codec.tensors import Schema
from collectorfleet.messages import Answer, CollectorId


class SchemaOnce:
    """The collector's side: numbers the schemas that it sees."""

    def __init__(self) -> None:
        self._number = 0
        self._newest: Schema | None = None

    def left_out(self, answer: Answer, known: int) -> tuple[Answer, int]:
        """The answer without its schema, if that is the known one, and the schema's number."""
        part = answer.payload
        if part is None:
            return answer, known
        if part.encoded.schema != self._newest:
            self._newest = part.encoded.schema
            self._number += 1
        if self._number != known:
            return answer, self._number
        return replace(answer, payload=replace(part, encoded=replace(part.encoded, schema=None))), known


class SchemasKnown:
    """The driver's side, for all collectors."""

    def __init__(self) -> None:
        self._known: dict[CollectorId, tuple[int, Schema]] = {}

    def number(self, collector: CollectorId) -> int:
        """What to tell the collector that is known; 0 is nothing."""
        found = self._known.get(collector)
        return found[0] if found else 0

    def filled_in(self, answer: Answer, number: int) -> Answer:
        """The answer with its schema, which is remembered if it came along."""
        part = answer.payload
        if part is None:
            return answer
        if part.encoded.schema is not None:
            self._known[answer.collector] = (number, part.encoded.schema)
            return answer
        schema = self._known[answer.collector][1]
        return replace(answer, payload=replace(part, encoded=replace(part.encoded, schema=schema)))

    def forget(self, collector: CollectorId) -> None:
        self._known.pop(collector, None)
