"""A list of the API server, read one item at a time, so that no step is long and no list is held whole.

Thousands of objects are megabytes of text. Items are decoded one at a time. An item whose text is the same as in the
list before is not decoded at all, and most texts are the same. Items come in the order of their names, so the next
expected text is known beforehand.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from collectorfleet_api.nesting import EndOfValue, is_deeper
from collectorfleet_operator.edge.readable import object_of
from collectorfleet_operator.objects import Key, Object, name_of, namespace_of

_decode: Final = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Unchanged:
    """An item that the list before had, to the letter."""

    key: Key


class _Text(NamedTuple):
    """An item as it was listed: how long, and what of it stands for the rest."""

    key: Key
    length: int
    hash: int


class Incomplete(ValueError):
    """The text ended before the list did."""


@dataclass
class Listing:
    """Lists of one kind in one place, one after another. ``resource_version`` is that of the last complete one."""

    resource_version: str = ""
    _before: Sequence[_Text] = ()

    async def read(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[Object | Unchanged]:
        """The items of the next list; raises :class:`Incomplete` or ValueError where it is none."""
        items = _Items(self._before)
        async for piece in pieces:
            for item in items.of(piece):
                yield item
        self.resource_version = items.resource_version()
        self._before = items.seen


@dataclass
class _Items:
    """Takes a list's text in pieces; gives the items that are complete."""

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
    # Of an item that is too deep for the decoder, while it comes.
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
            raise Incomplete("the list ended before its end")
        return str(self._fields["metadata"]["resourceVersion"])

    def _read_field(self) -> bool:
        """A field of the list itself; False if it is not there as a whole yet."""
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
        # The part of it that came first may have been too deep for the decoder.
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
        """The next item, and where it ends; None if the rest of it comes with the next piece."""
        if self._end is None:
            try:
                item, end = _decode(self._text, self._at)
            except json.JSONDecodeError:
                return None
            except RecursionError:
                self._end = EndOfValue()
            else:
                text = self._text[self._at : end]
                return (object_of(text) if is_deeper(text.encode()) else item), end
        length = self._end.find(self._text[self._at :])
        if length is None:
            return None
        self._end = None
        end = self._at + length
        return object_of(self._text[self._at : end]), end

    def _go_on_after(self, key: Key) -> None:
        """One that is new stands before what is expected; one that is expected later says that what is between went."""
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
