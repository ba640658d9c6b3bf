"""Events that are not taken are told later, and nobody waits for them."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest
from tests.unit.collectorfleet_operator.world import KEY, World, later

from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.decide.events import Change, event
from collectorfleet_operator.edge import event_writer
from collectorfleet_operator.edge.errors import ConflictError, KubeError, NotLeadingError, UnavailableError
from collectorfleet_operator.edge.event_writer import MAX_UNWRITTEN_EVENTS, PAUSE_SECONDS, EventWriter
from collectorfleet_operator.objects import Key, Kind, Object, metadata, name_of, uid_of


class PlayedEvents:
    """Takes Events, each once; fails, or hangs, as long as it is told to."""

    def __init__(self) -> None:
        self.taken: dict[str, Object] = {}  # by name
        self.failing: KubeError | None = None
        self.fails_in: str | None = None  # in one namespace alone
        self.hangs = False
        self.tries = 0

    async def create(self, kind: Kind, manifest: Object) -> Object:
        self.tries += 1
        if self.hangs:
            await asyncio.Event().wait()
        if self.failing is not None and self.fails_in in (None, metadata(manifest)["namespace"]):
            raise self.failing
        if name_of(manifest) in self.taken:
            raise ConflictError(f"create {kind}", "it exists already")
        self.taken[name_of(manifest)] = manifest
        return manifest

    @property
    def told(self) -> list[str]:
        return [made["message"] for made in self.taken.values()]


class Told:
    """A writer, the Events that it writes to, and a clock."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.events = PlayedEvents()
        self.writer = EventWriter(self.events, self.now, lambda: self.seconds)  # type: ignore[arg-type]
        self.uid = uid_of(World().get(FLEET))

    def now(self) -> datetime:
        return later(self.seconds)

    def happens(self, *messages: str, key: Key = KEY) -> None:
        """And a look tries to tell it."""
        self.writer.add(key, self.uid, [change(one) for one in messages])
        asyncio.run(self.writer.write(key))


def change(message: str) -> Change:
    return Change("Warning", "DriverLost", message, message)


def unavailable() -> KubeError:
    return UnavailableError("create Event", "etcdserver: request timed out")


def test_what_events_were_not_taken_for_is_told_later_in_its_order_and_with_its_time() -> None:
    told = Told()
    told.events.failing = unavailable()
    told.happens("first", "second")
    told.seconds = PAUSE_SECONDS
    told.happens("third")
    assert told.writer.is_behind(KEY)
    told.events.failing = None
    told.seconds *= 2
    told.happens()
    assert list(told.events.taken.values()) == [
        event(KEY, told.uid, change("first"), later(0)),
        event(KEY, told.uid, change("second"), later(0)),
        event(KEY, told.uid, change("third"), later(PAUSE_SECONDS)),
    ]
    assert not told.writer.is_behind(KEY)


def test_a_change_that_is_found_again_before_it_is_told_is_told_once() -> None:
    told = Told()
    told.events.failing = unavailable()
    told.happens("first")
    told.events.failing = None
    told.seconds = PAUSE_SECONDS
    told.happens("first")
    assert told.events.tries == 2
    assert told.events.told == ["first"]


def test_of_a_thousand_looks_one_waits_for_events_that_are_not_taken(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    told = Told()
    told.events.failing = unavailable()
    fleets = [Key("default", f"c{number}") for number in range(1000)]
    for times in (1, 2):
        for key in fleets:
            told.happens(f"{key} {times}", key=key)
        assert told.events.tries == times
        told.seconds += PAUSE_SECONDS
    told.events.failing = None
    for key in fleets:
        told.happens(key=key)
    assert len(told.events.taken) == 2000
    said = [line for line in caplog.messages if " Events in namespace " in line]
    assert said == [
        f"the API server refuses Events in namespace default; they are sent again later: {unavailable()}",
        "the API server accepts Events in namespace default again",
    ]


def test_a_namespace_whose_events_are_not_taken_keeps_no_other_waiting() -> None:
    told = Told()
    told.events.failing, told.events.fails_in = unavailable(), KEY.namespace
    told.happens("first")
    told.writer.add(Key("beside", "c"), "fleet-2", [change("second")])
    asyncio.run(told.writer.write(Key("beside", "c")))
    assert told.events.told == ["second"]
    assert told.writer.is_behind(KEY)


def test_a_look_waits_for_an_answer_about_events_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_writer, "PATIENCE_SECONDS", 0.01)
    told = Told()
    told.events.hangs = True
    told.happens("first")
    told.happens("second")
    assert told.events.tries == 1
    told.events.hangs = False
    told.seconds = PAUSE_SECONDS
    told.happens()
    assert told.events.told == ["first", "second"]


def test_while_one_look_finds_out_whether_events_are_taken_again_no_other_waits() -> None:
    told = Told()
    told.events.failing = unavailable()
    told.happens("first")
    told.seconds = PAUSE_SECONDS
    told.events.hangs = True
    told.writer.add(Key("default", "other"), "fleet-2", [change("second")])

    async def run() -> None:
        first = asyncio.create_task(told.writer.write(KEY))
        await asyncio.sleep(0)
        await told.writer.write(Key("default", "other"))
        first.cancel()

    asyncio.run(run())
    assert told.events.tries == 2


def test_who_may_not_write_any_more_is_told_so_and_keeps_what_is_untold() -> None:
    told = Told()
    told.events.failing = NotLeadingError("create Event", "not sent")
    with pytest.raises(NotLeadingError):
        told.happens("first")
    # It leads again, and Events were never away.
    told.events.failing = None
    told.happens()
    assert told.events.told == ["first"]


def test_of_what_is_untold_the_newest_is_kept_of_fleets_that_are_there() -> None:
    told = Told()
    gone = Key("default", "gone")
    told.events.failing = unavailable()
    told.happens(*(str(number) for number in range(MAX_UNWRITTEN_EVENTS + 3)))
    told.happens("gone", key=gone)
    told.writer.forget_others({KEY})
    assert not told.writer.is_behind(gone)
    told.events.failing = None
    told.seconds = PAUSE_SECONDS
    told.happens()
    assert told.events.told == [str(number) for number in range(3, MAX_UNWRITTEN_EVENTS + 3)]
