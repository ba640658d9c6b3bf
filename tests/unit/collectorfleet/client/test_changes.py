"""What a later list of fleets says about those that were known."""

from __future__ import annotations

from tests.unit.collectorfleet.cli.played_api import FLEET

from collectorfleet.client.changes import Change, Known
from collectorfleet_api.v1alpha1 import CollectorFleet


def fleet(uid: str, version: str) -> CollectorFleet:
    return CollectorFleet.parse_stored(
        {**FLEET, "metadata": {**FLEET["metadata"], "uid": uid, "resourceVersion": version}}
    )


def test_a_list_tells_what_changed_is_new_or_is_gone() -> None:
    known = Known()
    same, changed, gone = fleet("same", "1"), fleet("changed", "2"), fleet("gone", "3")
    assert known.update([same, changed, gone]) == [Change(same), Change(changed), Change(gone)]
    later, new = fleet("changed", "4"), fleet("new", "5")
    assert known.update([same, later, new]) == [Change(later), Change(new), Change(gone, is_deleted=True)]
    assert known.update([same, later, new]) == []


def test_a_known_fleet_that_cannot_be_read_later_is_not_gone() -> None:
    known = Known()
    known.update([fleet("a", "1"), fleet("b", "2")])
    assert known.update([fleet("a", "1")], unreadable={"b"}) == []
    assert known.update([fleet("a", "1")]) == [Change(fleet("b", "2"), is_deleted=True)]


def test_what_an_event_told_is_not_told_again() -> None:
    known = Known()
    known.update([fleet("a", "1"), fleet("b", "2")])
    known.apply(Change(fleet("a", "3")))
    known.apply(Change(fleet("b", "2"), is_deleted=True))
    assert known.update([fleet("a", "3")]) == []
