"""Limits the nesting of a fleet, and reads JSON text that is nested deeper. No side effects.

The API server stores keyword arguments that are nested thousands of levels deep. Python's JSON decoder, and most code
for nested values, recurse once for each level. They raise RecursionError near a depth of 1,000. No function of this
module recurses.

A level is a mapping or a list. The manifest itself is the first level. ``spec`` is the second level.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

MAX_LEVELS: Final = 64
TOO_DEEP: Final = f"nested more than {MAX_LEVELS} levels deep; flatten the value, or pass the value as JSON text"

# The number of keys of a path that a message shows. All 64 keys would fill a screen.
_SHOWN_KEYS: Final = 5
# This mark replaces a removed value until the code has the path of the value. No manifest has a NUL.
_CUT: Final = "\0nested too deeply"
_STRING: Final = r'"[^"\\]*(?:\\.[^"\\]*)*"'
# The last alternative, a quotation mark alone, matches a string whose end is not in the text.
_TOKENS: Final = re.compile(rf'{_STRING}|[{{}}\[\]"]', re.DOTALL)
_AS_BRACES: Final = bytes.maketrans(b"[]", b"{}")
_NO_BRACES: Final = bytes(set(range(256)) - set(b"[]{}"))


class TooDeepError(ValueError):
    """A value is nested deeper than ``MAX_LEVELS``. ``path`` is its path, shortened."""

    def __init__(self, path: str) -> None:
        super().__init__(TOO_DEEP)
        self.path = path


def check_depth(value: Any) -> None:
    """Raise TooDeepError if ``value``, made of JSON's types, is nested deeper than ``MAX_LEVELS``."""
    path = next(_paths_below(value, MAX_LEVELS), None)
    if path is not None:
        raise TooDeepError(path)


def exceeds_depth(text: bytes, levels: int = MAX_LEVELS) -> bool:
    """Return whether a complete JSON text is nested deeper than ``levels``.

    This check needs half the time of decoding.
    """
    if text.count(b"{") + text.count(b"[") <= levels:
        return False
    if b"\\" in text:
        # Remove escaped backslashes first, so that each remaining backslash escapes the next character.
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside_of_strings = text.split(b'"')[::2]
    braces = b"".join(outside_of_strings).translate(_AS_BRACES, _NO_BRACES)
    for _ in range(levels):
        # Remove the innermost level of each branch.
        braces = braces.replace(b"{}", b"")
        if not braces:
            return False
    return True


def cut(text: str, levels: int = MAX_LEVELS) -> str:
    """Return a complete JSON text in which a mark replaces each value that is nested deeper than ``levels``."""
    kept, at, level = [], 0, 0
    for token in _TOKENS.finditer(text):
        match token[0]:
            case "{" | "[":
                level += 1
                if level == levels + 1:
                    kept.append(text[at : token.start()])
            case "}" | "]":
                if level == levels + 1:
                    kept.append(json.dumps(_CUT))
                    at = token.end()
                level -= 1
    return "".join([*kept, text[at:]])


def decode(text: str | bytes, within: str = "", *, levels: int | None = None) -> tuple[Any, str | None]:
    """Return the value of a complete JSON text, and the path of the first value that was too deep.

    Values that are too deep become null. If there are none, the path is None. ``within`` is the key of the manifest in
    the text. By default, the text itself is the manifest. ``levels`` replaces the limit, for a text with several
    manifests. The path begins at the manifest. Paths in ``metadata.managedFields`` are ignored, because they repeat the
    structure of other fields. Raises json.JSONDecodeError.
    """
    levels = levels or MAX_LEVELS + bool(within)
    if not exceeds_depth(text if isinstance(text, bytes) else text.encode(), levels):
        return json.loads(text), None
    value = json.loads(cut(text if isinstance(text, str) else text.decode(), levels))
    paths = list(_paths_of_marks(value[within] if within else value))
    return value, next((path for path in paths if not path.startswith("metadata.managedFields")), None)


@dataclass
class EndOfValue:
    """Finds the end of a JSON value in a growing text. It reads each part of the text once."""

    at: int = 0
    _level: int = 0

    def find(self, text: str) -> int | None:
        """Return the index after the value, or None if ``text`` does not contain the value's end yet.

        The value is a mapping or a list.
        """
        for token in _TOKENS.finditer(text, self.at):
            if token[0] == '"':
                return None
            self.at = token.end()
            match token[0]:
                case "{" | "[":
                    self._level += 1
                case "}" | "]":
                    self._level -= 1
                    if self._level == 0:
                        return self.at
        return None


def _paths_below(value: Any, levels: int) -> Iterator[str]:
    """Yield the paths of the outermost mappings and lists that are nested deeper than ``levels``."""
    waiting: list[tuple[Any, tuple[str | int, ...]]] = [(value, ())]
    while waiting:
        found, path = waiting.pop()
        if not isinstance(found, dict | list):
            continue
        if len(path) == levels:
            yield _shown(path)
            continue
        inner = found.items() if isinstance(found, dict) else enumerate(found)
        waiting.extend((each, (*path, key)) for key, each in inner)


def _paths_of_marks(value: Any) -> Iterator[str]:
    """Replace the marks of :func:`cut` in a value by None, and yield their paths."""
    waiting: list[tuple[Any, tuple[str | int, ...]]] = [(value, ())]
    while waiting:
        found, path = waiting.pop()
        inner = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
        for key, each in list(inner):
            if each == _CUT:
                found[key] = None
                yield _shown((*path, key))
            else:
                waiting.append((each, (*path, key)))


def _shown(path: tuple[str | int, ...]) -> str:
    text = ""
    for key in path[:_SHOWN_KEYS]:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text
