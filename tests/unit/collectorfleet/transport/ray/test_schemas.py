"""The schema of rollouts travels once in an incarnation, and again when shapes change or an answer was lost."""

from __future__ import annotations

import torch
from tensordict import TensorDict

from collectorfleet.codec.frames import Part
from collectorfleet.codec.tensors import decode, encode
from collectorfleet.messages import Answer, CollectorId
from collectorfleet.transport.ray.schemas import NO_SCHEMA, Known, SchemaOnce, SchemasKnown

C0 = CollectorId("c0", 1)


def answer(frames: int) -> Answer:
    batch = TensorDict({"observation": torch.ones(frames, 3)}, batch_size=[frames])
    return Answer(C0, 7, Part(encode(batch), (), 1), frames, 1, 0.1)


class Way:
    """From one collector to the driver; answers can be lost on it."""

    def __init__(self) -> None:
        self.actor, self.driver = SchemaOnce(), SchemasKnown()

    def travels(self, made: Answer, *, lost: bool = False, known: Known | None = None) -> bool:
        """Whether the schema went along; the answer arrives whole either way."""
        known = known or self.driver.newest(C0)
        sent, number = self.actor.left_out(made, known.number)
        if not lost:
            arrived = self.driver.filled_in(sent, number, known)
            assert decode(arrived.payload.encoded).shape == torch.Size([made.frames])
        return sent.payload.encoded.schema is not None


def test_it_travels_once() -> None:
    way = Way()
    assert [way.travels(answer(5)) for _ in range(3)] == [True, False, False]


def test_it_travels_again_when_the_shape_changes_and_changes_back() -> None:
    way = Way()
    assert [way.travels(answer(frames)) for frames in (5, 6, 6, 5, 5)] == [True, True, False, True, False]


def test_it_travels_again_after_an_answer_that_was_lost() -> None:
    way = Way()
    assert way.travels(answer(5), lost=True)
    assert way.travels(answer(5))
    assert not way.travels(answer(5))


def test_a_request_that_left_before_the_first_answer_came_gets_it_too() -> None:
    way = Way()
    assert way.travels(answer(5))
    assert way.travels(answer(5), known=NO_SCHEMA)


def test_answers_that_arrive_in_the_other_order_have_their_own_schemas() -> None:
    way = Way()
    way.travels(answer(5))
    known = way.driver.newest(C0)
    sent = [way.actor.left_out(answer(frames), known.number) for frames in (5, 6, 7)]
    arrived = [way.driver.filled_in(*one, known).payload for one in reversed(sent)]
    assert [decode(one.encoded).numel() for one in arrived] == [7, 6, 5]
    assert not way.travels(answer(7))


def test_a_new_incarnation_begins_anew() -> None:
    way = Way()
    way.travels(answer(5))
    way.driver.forget(C0)
    assert way.driver.newest(C0) == NO_SCHEMA


def test_frames_that_went_into_a_replay_buffer_have_none() -> None:
    way = Way()
    written = Answer(C0, 7, None, 5, 1, 0.1)
    assert way.driver.filled_in(*way.actor.left_out(written, 0), NO_SCHEMA) == written
