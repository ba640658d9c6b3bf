"""A reader for the API server's lists that decodes one item at a time.

Thousands of objects are megabytes of text. Each step is short, and no whole list is in memory. Most items have the same
text as in the previous list, and are not decoded. Items come in the order of their names, so the reader knows in
advance which text should come next.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from collectorfleet_api.nesting import EndOfValue, exceeds_depth
from collectorfleet_operator.edge.readable import object_of
from collectorfleet_operator.objects import Key, Object, name_of, namespace_of

_decode: Final = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Unchanged:
    """An item with the same text as in the previous list."""

    key: Key


class _Text(NamedTuple):
    """The length and the hash of an item's text."""

    key: Key
    length: int
    hash: int


class Incomplete(ValueError):
    """The text ended before the end of the list, or is not a list."""


@dataclass
class Listing:
    """Successive lists of one kind in one or all namespaces.

    ``resource_version`` is the version of the last complete list.
    """

    resource_version: str = ""
    _before: Sequence[_Text] = ()

    async def read(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[Object | Unchanged]:
        """Yield the items of the next list. Raises :class:`Incomplete`, or ValueError for text that is not a list."""
        items = _Items(self._before)
        async for piece in pieces:
            for item in items.of(piece):
                yield item
        self.resource_version = items.resource_version()
        self._before = items.seen


@dataclass
class _Items:
    """A parser that reads a list's text in pieces and yields the complete items."""

    before: Sequence[_Text]
    seen: list[_Text] = field(default_factory=list)
    _bytes: codecs.IncrementalDecoder = field(default_factory=codecs.getincrementaldecoder("utf-8"))
    _text: str = ""
    _at: int = 0
    _next: int = 0
    _places: Mapping[Key, int] | None = None
    _in_items: bool = False
    _fields: dict[str, Any] = field(default_factory=dict)
    _is_complete: bool = False
    # Finds the end of an item that is nested too deeply for the decoder, until the item is complete.
    _end: EndOfValue | None = None

    def of(self, piece: bytes) -> Iterator[Object | Unchanged]:
        self._text = self._text[self._at :] + self._bytes.decode(piece)
        self._at = 0
        while not self._is_complete:
            if not self._in_items:
                if not self._read_field():
                    return
                continue
            self._skip(", \n")
            if self._text.startswith("]", self._at):
                self._at += 1
                self._in_items = False
                continue
            item = self._unchanged() or self._changed()
            if item is None:
                return
            yield item

    def resource_version(self) -> str:
        if not self._is_complete:
            raise Incomplete("the answer ended before the end of the list")
        try:
            return str(self._fields["metadata"]["resourceVersion"])
        except (LookupError, TypeError):
            raise Incomplete("the list has no resource version") from None

    def _read_field(self) -> bool:
        """Read a field of the list itself. Return False if the field is not complete yet."""
        self._skip("{, \n")
        if self._text.startswith("}", self._at):
            self._is_complete = True
            return True
        try:
            name, at = _decode(self._text, self._at)
            while self._text[at] in ": \n":
                at += 1
            if name == "items" and self._text[at] == "[":
                self._in_items, self._at = True, at + 1
                return True
            self._fields[name], at = _decode(self._text, at)
        except (json.JSONDecodeError, IndexError):
            return False
        self._at = at
        return True

    def _unchanged(self) -> Unchanged | None:
        if self._next >= len(self.before):
            return None
        expected = self.before[self._next]
        text = self._text[self._at : self._at + expected.length]
        if hash(text) != expected.hash:
            return None
        # The first part of this item may have been too deep for the decoder.
        self._end = None
        self._at += expected.length
        self._next += 1
        self.seen.append(expected)
        return Unchanged(expected.key)

    def _changed(self) -> Object | None:
        item = self._next_item()
        if item is None:
            return None
        found, end = item
        key = Key(namespace_of(found), name_of(found))
        self.seen.append(_Text(key, end - self._at, hash(self._text[self._at : end])))
        self._at = end
        self._go_on_after(key)
        return found

    def _next_item(self) -> tuple[Object, int] | None:
        """Return the next item and the position of its end, or None if the item is not complete yet."""
        if self._end is None:
            try:
                item, end = _decode(self._text, self._at)
            except json.JSONDecodeError:
                return None
            except RecursionError:
                self._end = EndOfValue()
            else:
                text = self._text[self._at : end]
                return (object_of(text) if exceeds_depth(text.encode()) else item), end
        length = self._end.find(self._text[self._at :])
        if length is None:
            return None
        self._end = None
        end = self._at + length
        return object_of(self._text[self._at : end]), end

    def _go_on_after(self, key: Key) -> None:
        """Set the item that should come next after ``key``.

        A new item does not change which item is expected. If the reader meets an item that it expected later, the items
        that it expected earlier were deleted.
        """
        if self._next < len(self.before) and self.before[self._next].key == key:
            self._next += 1
            return
        if self._places is None:
            self._places = {text.key: place for place, text in enumerate(self.before)}
        place = self._places.get(key)
        if place is not None and place >= self._next:
            self._next = place + 1

    def _skip(self, characters: str) -> None:
        while self._at < len(self._text) and self._text[self._at] in characters:
            self._at += 1
