"""Warnings in the driver's log, each once."""

from __future__ import annotations

from collectorfleet.gather.state.notices import Notices


def test_a_finding_of_many_collectors_is_said_of_the_first() -> None:
    notices = Notices()
    assert notices.of_built("c0", ["slow", "old"]) == ["c0: slow", "c0: old"]
    assert notices.of_built("c1", ["slow", "odd"]) == ["c1: odd"]
    assert notices.of_built("c2", ["slow", "old", "odd"]) == []


def test_a_text_is_new_once() -> None:
    notices = Notices()
    assert [notices.is_new(text) for text in ("a", "b", "a", "b")] == [True, True, False, False]


def test_each_collector_that_is_built_after_map_fn_lacks_its_changes() -> None:
    notices = Notices()
    assert notices.of_built("c0", []) == []
    for method in ("env.level", "policy.reset", "env.level"):
        notices.mapped(method)
    text = (
        "{0} was built after map_fn called env.level, policy.reset, so {0} does not have their changes; call these "
        "methods again"
    )
    assert notices.of_built("c1", []) == [text.format("c1")]
    assert notices.of_built("c2", ["slow"]) == ["c2: slow", text.format("c2")]
