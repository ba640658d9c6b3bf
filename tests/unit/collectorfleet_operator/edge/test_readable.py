"""Objects that cannot be read arrive by lists, watches and answers; each is marked, and all others arrive unchanged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.aio import client
from tests.unit.collectorfleet_operator.edge.test_listing import built_in, custom, item, read

from collectorfleet_api.nesting import MAX_LEVELS
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.listing import Listing, Unchanged
from collectorfleet_operator.edge.readable import event_of, object_of, stand_in
from collectorfleet_operator.edge.readable_lines import ReadableLines
from collectorfleet_operator.objects import Key, Object, name_of, why_unreadable

DEPTHS = [MAX_LEVELS + 1, 990, 5_000]


def deep(name: str, levels: int, version: int = 1) -> str:
    """The text of a fleet; no encoder writes one that is so deep."""
    kwargs = '{"a":' * levels + "1" + "}" * levels
    metadata = json.dumps({"name": name, "namespace": "lab", "resourceVersion": str(version), "uid": f"uid-{name}"})
    return f'{{"metadata":{metadata},"spec":{{"environment":{{"kwargs":{{"x":{kwargs}}}}}}}}}'


def with_deep(text: bytes, levels: int) -> bytes:
    """The text of a list whose items named ``deep-…`` are deep."""
    found = text.decode()
    for name in ("deep-1", "deep-2"):
        found = found.replace(json.dumps(item(name), separators=(",", ":")), deep(name, levels))
    return found.encode()


@pytest.mark.parametrize("levels", DEPTHS)
@pytest.mark.parametrize("form", [built_in, custom], ids=["built in", "custom"])
@pytest.mark.parametrize("size", [1, 7, 4096, 2**20])
def test_deep_items_of_a_list_are_marked_and_the_others_are_as_they_are(form: Any, levels: int, size: int) -> None:
    names = ["a", "deep-1", "deep-2", "z"]
    into = Listing()
    text = with_deep(form([item(name) for name in names]), levels)
    a, first, second, z = read(into, text, size)
    assert (a, z) == (item("a"), item("z"))
    assert [name_of(first), name_of(second)] == ["deep-1", "deep-2"]
    for found in (first, second):
        told = why_unreadable(found)
        assert told is not None
        assert told.startswith("spec.environment.kwargs.x.a: nested more than 64 levels deep")
    # An object that stays as it is costs nothing, deep or not.
    assert read(into, text, size) == [Unchanged(Key("lab", name)) for name in names]


@pytest.mark.parametrize("size", [*range(2_000, 9_000, 250), 2**16])
def test_what_follows_a_deep_item_that_did_not_change_is_read_in_whatever_pieces_it_comes(size: int) -> None:
    into = Listing()
    read(into, with_deep(built_in([item("deep-1"), item("fleet"), item("z")]), 1_500), size)
    after = with_deep(built_in([item("deep-1"), item("fleet", 2), item("new"), item("z")], 8), 1_500)
    first, fleet, new, last = read(into, after, size)
    assert (first, last) == (Unchanged(Key("lab", "deep-1")), Unchanged(Key("lab", "z")))
    assert (fleet, new) == (item("fleet", 2), item("new"))
    assert into.resource_version == "8"


def lines(text: bytes, sizes: Sequence[int]) -> list[bytes]:
    """What a reader gets of a text that comes in pieces of these sizes, and of one byte after them."""

    class Content:
        at_eof = "asked of the content"

        async def iter_chunked(self, _size: int) -> AsyncIterator[bytes]:
            at = 0
            for size in [*sizes, *[1] * len(text)]:
                if at < len(text):
                    yield text[at : at + size]
                at += size

    async def run() -> list[bytes]:
        content = ReadableLines(Content())  # type: ignore[arg-type]
        assert content.at_eof == "asked of the content"
        return [piece async for piece in content.iter_chunked(100)]

    return asyncio.run(run())


@given(st.lists(st.integers(1, 50), max_size=10))
def test_the_lines_of_a_watch_are_passed_on_as_they_are(sizes: list[int]) -> None:
    text = b'{"type":"ADDED","object":{"spec":"\\n \xc3\xbc"}}\n{"type": "BOOKMARK"}\n\nhalf a li'
    assert b"".join(lines(text, sizes)) == text


@pytest.mark.parametrize("levels", DEPTHS)
def test_a_deep_object_in_a_watch_is_marked_and_its_line_can_be_decoded(levels: int) -> None:
    before, after = b'{"type":"ADDED","object":{"a": 1}}\n', b'{"type":"DELETED","object":{"b":2}}\n'
    text = before + f'{{"type":"MODIFIED","object":{deep("deep", levels)}}}\n'.encode() + after
    first, line, last = lines(text, [1000] * 100)
    assert (first, last) == (before, after)
    event = json.loads(line)
    assert event["type"] == "MODIFIED"
    assert name_of(event["object"]) == "deep"
    told = why_unreadable(event["object"])
    assert told is not None
    assert told.startswith("spec.environment.kwargs.x.a: nested more than 64 levels deep")


def test_what_is_as_deep_as_allowed_is_not_marked() -> None:
    levels = MAX_LEVELS - 4  # the object, its spec, the environment and its kwargs
    assert why_unreadable(object_of(deep("f", levels))) is None
    assert why_unreadable(event_of(f'{{"type":"ADDED","object":{deep("f", levels)}}}'.encode())["object"]) is None
    assert why_unreadable(object_of(deep("f", levels + 1))) is not None


def test_a_deep_object_that_is_answered_is_marked() -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=deep("deep", 5_000), content_type="application/json")

    async def run() -> Object | None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        async with TestServer(app) as server:
            configuration = client.Configuration(host=str(server.make_url("")))
            async with client.ApiClient(configuration) as api:
                return await Kube(api).find(FLEET, "lab", "deep")

    found = asyncio.run(run())
    assert found is not None
    assert why_unreadable(found) is not None
    assert name_of(found) == "deep"


def test_of_an_object_that_cannot_be_read_identity_owners_and_labels_are_kept() -> None:
    owner = {"uid": "fleet-1", "controller": True}
    identity = {"name": "l", "namespace": "lab", "uid": "u", "resourceVersion": "3"}
    kept = {**identity, "labels": {"a": "b"}, "ownerReferences": [owner]}
    odd = {**kept, "labels": {"a": "b", "c": 3}, "ownerReferences": [owner, 7, {}], "generation": [], "odd": object()}
    found = stand_in(LEASE, {"metadata": odd, "spec": {}}, ValueError("no such time"))
    assert found == {
        "apiVersion": LEASE.api_version,
        "kind": "Lease",
        "metadata": kept,
        "unreadable": "this operator cannot read Lease l: ValueError: no such time",
    }
