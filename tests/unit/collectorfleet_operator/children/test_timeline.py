"""The ConfigMap with how a run went."""

from __future__ import annotations

from tests.unit.collectorfleet_operator.children.fleets import fleet

from collectorfleet_operator.children.diff import difference
from collectorfleet_operator.children.timeline import timeline


def test_the_driver_owns_what_is_in_it() -> None:
    made = timeline(fleet())
    assert not {"data", "binaryData"} & made.keys()
    assert difference({**made, "binaryData": {"timeline.json.gz": "H4sI"}}, made) == ""


def test_its_metadata_are_enough_to_see_that_it_is_as_it_should_be() -> None:
    made = timeline(fleet())
    listed = {key: made[key] for key in ("apiVersion", "kind", "metadata")}
    assert difference(listed, made) == ""
