"""A collector sends frames to the driver in two parts: an answer without arrays, and the packed arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from collectorfleet.codec.tensors import Array
from collectorfleet.messages import Answer
from collectorfleet.transport.processes.packed import Layout, pack


@dataclass(frozen=True, slots=True)
class Frames:
    answer: Answer
    layout: Layout

    @classmethod
    def of(cls, answer: Answer) -> tuple[Frames, Tensor]:
        """Return the answer without its arrays, and the arrays packed in new memory.

        No later rollout overwrites this memory.
        """
        layout, packed = pack(answer.payload.encoded.arrays)
        return cls(_with(answer, []), layout), packed

    def complete(self, packed: Tensor) -> Answer:
        """Return the answer with its arrays, as views of ``packed``."""
        return _with(self.answer, self.layout.views(packed))


def _with(answer: Answer, arrays: list[Array]) -> Answer:
    part = answer.payload
    return replace(answer, payload=replace(part, encoded=replace(part.encoded, arrays=arrays)))
