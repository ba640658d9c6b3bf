"""Send the schema of rollouts once. The actor omits the schema from later answers, and the driver adds it again.

A schema is as large as a small rollout, and stays the same unless shapes change. Each request names the schema that the
driver has. So the loss of an answer that has a schema does not affect later answers.
"""

from __future__ import annotations

from dataclasses import replace

from collectorfleet.codec.tensors import Schema
from collectorfleet.messages import Answer, CollectorId


class SchemaOnce:
    """The collector's side, which gives each schema a number."""

    def __init__(self) -> None:
        self._number = 0
        self._newest: Schema | None = None

    def left_out(self, answer: Answer, known: int) -> tuple[Answer, int]:
        """Return the answer and its schema's number. The answer has no schema if its number is ``known``."""
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
        """Return the number of the newest schema that the driver has from the collector. 0: no schema."""
        found = self._known.get(collector)
        return found[0] if found else 0

    def filled_in(self, answer: Answer, number: int) -> Answer:
        """Return the answer with its schema. A schema that came with the answer is stored."""
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
