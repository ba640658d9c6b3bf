"""Send the schema of rollouts once. The actor omits the schema from later answers, and the driver adds it again.

A schema is as large as a small rollout, and stays the same unless shapes change. Each request names the schema that the
driver has, and the driver keeps this schema until the answer arrives. So an answer may be lost, and answers may arrive
in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

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


@dataclass(frozen=True, slots=True)
class Known:
    """A schema that the driver has, and its number."""

    number: int
    schema: Schema | None


NO_SCHEMA: Final = Known(0, None)


class SchemasKnown:
    """The driver's side, for all collectors."""

    def __init__(self) -> None:
        self._newest: dict[CollectorId, Known] = {}

    def newest(self, collector: CollectorId) -> Known:
        """Return the newest schema that the driver has from the collector."""
        return self._newest.get(collector, NO_SCHEMA)

    def filled_in(self, answer: Answer, number: int, known: Known) -> Answer:
        """Return the answer with its schema. A schema that came with the answer is stored.

        ``number`` is the number of the answer's schema. The request of the answer named ``known``.
        """
        part = answer.payload
        if part is None:
            return answer
        if part.encoded.schema is None:
            return replace(answer, payload=replace(part, encoded=replace(part.encoded, schema=known.schema)))
        if number > self.newest(answer.collector).number:  # the answer of a later request may have arrived earlier
            self._newest[answer.collector] = Known(number, part.encoded.schema)
        return answer

    def forget(self, collector: CollectorId) -> None:
        self._newest.pop(collector, None)
