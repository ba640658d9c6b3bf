"""A list is the same however its text is cut, and what it says again is not decoded again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_operator.edge import listing
from collectorfleet_operator.edge.listing import Incomplete, Listing, Unchanged
from collectorfleet_operator.objects import Key, Object


def item(name: str, version: int = 1, text: str = "") -> Object:
    return {"metadata": {"name": name, "namespace": "lab", "resourceVersion": str(version)}, "text": text}


def built_in(items: Sequence[Object], version: int = 7) -> bytes:
    """As of kinds that Kubernetes brings."""
    whole = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": str(version)}, "items": items}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def custom(items: Sequence[Object], version: int = 7) -> bytes:
    """As of custom resources: in the order of the alphabet."""
    metadata = {"continue": "", "resourceVersion": str(version)}
    whole = {"apiVersion": "a/v1", "items": items, "kind": "AList", "metadata": metadata}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def read(into: Listing, text: bytes, size: int = 7) -> list[Any]:
    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(text), size):
            yield text[at : at + size]

    async def run() -> list[Any]:
        return [one async for one in into.read(pieces())]

    return asyncio.run(run())


NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True).map(sorted)
TEXTS = st.sampled_from(["", "plain", 'quo"ted', "b{r}a[c]e,s", "ünïcode 你好 🎈", "\\back\nslash"])


@pytest.mark.parametrize("form", [built_in, custom], ids=["built in", "custom"])
@given(st.data())
def test_a_list_is_read_whole_in_whatever_pieces_it_comes(form: Any, data: st.DataObject) -> None:
    items = [item(name, text=data.draw(TEXTS)) for name in data.draw(NAMES)]
    size = data.draw(st.integers(1, 300))
    found = Listing()
    assert read(found, form(items, 9), size) == items
    assert found.resource_version == "9"


@given(st.data())
def test_of_the_next_list_only_what_changed_is_decoded(data: st.DataObject) -> None:
    before = {name: item(name, text=data.draw(TEXTS)) for name in data.draw(NAMES)}
    after = {name: item(name, data.draw(st.integers(1, 2)), data.draw(TEXTS)) for name in data.draw(NAMES)}
    for name in after:
        if name in before and data.draw(st.booleans()):
            after[name] = before[name]
    found = Listing()
    read(found, built_in(list(before.values())), data.draw(st.integers(1, 300)))
    said = read(found, built_in(list(after.values())), data.draw(st.integers(1, 300)))
    # What follows something that went may be decoded again.
    assert len(said) == len(after)
    for one, (name, listed) in zip(said, after.items(), strict=True):
        assert one == listed or (one == Unchanged(Key("lab", name)) and before[name] == listed)


def test_what_did_not_change_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [item(f"{number:03}") for number in range(100)]
    found = Listing()
    read(found, built_in(items), 1000)
    decoded = []
    decode = listing._decode

    def counted(text: str, at: int) -> Any:
        value, end = decode(text, at)
        decoded.append(value)
        return value, end

    monkeypatch.setattr(listing, "_decode", counted)
    items[10] = item("010", 2)
    items.insert(20, item("0195"))
    del items[30]
    read(found, built_in(items), 1000)
    assert [one for one in decoded if isinstance(one, dict) and "text" in one] == [items[10], items[20], items[30]]


def test_a_list_without_items_may_say_null() -> None:
    found = Listing()
    assert read(found, b'{"kind":"PodList","metadata":{"resourceVersion":"3"},"items":null}\n') == []
    assert found.resource_version == "3"


def test_a_list_that_breaks_off_is_none_and_the_one_before_stays() -> None:
    found = Listing()
    read(found, built_in([item("a")], 5))
    text = built_in([item("a", 2), item("b")], 6)
    with pytest.raises(Incomplete):
        read(found, text[:-20])
    assert found.resource_version == "5"
    assert read(found, built_in([item("a")], 7)) == [Unchanged(Key("lab", "a"))]
