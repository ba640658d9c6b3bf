"""Frames on their way to the driver: an answer without its arrays, which travel beside it, packed."""

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
        """An answer that has frames, and its arrays in memory of their own, where no later rollout is written."""
        layout, packed = pack(answer.payload.encoded.arrays)
        return cls(_with(answer, []), layout), packed

    def complete(self, packed: Tensor) -> Answer:
        """The answer, its arrays in the memory of ``packed``."""
        return _with(self.answer, self.layout.views(packed))


def _with(answer: Answer, arrays: list[Array]) -> Answer:
    part = answer.payload
    return replace(answer, payload=replace(part, encoded=replace(part.encoded, arrays=arrays)))
