"""Reads YAML as kubectl does, with the line of each value.

YAML readers, such as PyYAML and kubectl, give the same unquoted word different meanings. ``lr: 3e-4`` is text to Python
and a number to kubectl, and ``start: 1:30`` is a number to Python and text to kubectl. A fleet has to mean the same in
a local run and on a cluster. So this module resolves words by kubectl's rules (measured with v1.34). It reports
repeated keys, because kubectl silently uses the last value of a repeated key.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from collectorfleet_api.nesting import MAX_LEVELS
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.sentences import path_text

Path = tuple[str | int, ...]

# The limit for a document is larger than the limit for a fleet, because a file may have other objects. PyYAML fails at
# a few hundred levels.
_MAX_LEVELS: Final = 2 * MAX_LEVELS
# The limit for all documents of a file. Reading so many values takes about a second.
_MAX_VALUES: Final = 50_000
_BEGINS_WITH_OBJECT: Final = re.compile(r"\s*\{")
# Ten lines of nested aliases can expand to millions of values.
_MAX_REPEATED_VALUES: Final = 10_000

_PLAIN: Final = "collectorfleet:plain"
_TEXT: Final = "tag:yaml.org,2002:str"
_MERGE: Final = "<<"
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
}
_INTEGER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_HALF_CHARACTER: Final = re.compile(r"[\ud800-\udfff]")
_LARGEST_INTEGER: Final = 2**63 - 1  # the API server loses digits of larger numbers
_MOST_DIGITS: Final = 1024  # a finite float has at most this many digits in base 2


class YamlError(ValueError):
    """The text is not readable YAML. ``line`` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Document:
    """One document of a file: its content in JSON's types, and the line of each path in it, counted from 1."""

    content: Any
    line: int
    lines: dict[str, int]
    problems: list[Problem]

    def line_of(self, path: str) -> int:
        """Return the line of ``path``, or else the line of the nearest value that contains ``path``."""
        while path not in self.lines and path:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path, self.line)


def read_documents(text: str) -> Iterator[Document]:
    """Yield every document that is not empty. Raises YamlError at the first document that is not readable."""
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        while loader.check_node():
            node: Node = loader.get_node()  # type: ignore[assignment]  # check_node returned True
            reading = _Reading(is_json=_is_json(text, node))
            content = reading.value(node, ())
            if content is not None:
                yield Document(content, node.start_mark.line + 1, reading.lines, reading.problems)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(mark.line + 1 if mark else 1, f"not YAML: {error.problem or error}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError(line, f"not text: U+{error.character:04X} is a control character; name a manifest") from error
    except YamlError:
        raise
    except (ValueError, OverflowError) as error:  # PyYAML converts numbers of any size
        line = loader.line + 1 if loader is not None else 1
        text = (
            "not YAML: an escape such as \\U00110000 is out of range, or the version in %YAML is too high; correct the "
            "escape or the version"
        )
        raise YamlError(line, text) from error
    finally:
        if loader is not None:
            loader.dispose()


class _Loader(yaml.SafeLoader):
    """A loader that does not resolve plain words.

    Raises YamlError for text that is nested too deeply or has too many values.
    """

    _level = 0
    _values = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        self._level += 1
        self._values += 1
        line: int = self.peek_event().start_mark.line  # type: ignore[no-untyped-call]
        _check_level(self._level, line)
        if self._values > _MAX_VALUES:
            raise YamlError(line + 1, f"more than {_MAX_VALUES:,} values; split the file")
        try:
            return super().compose_node(parent, index)
        finally:
            self._level -= 1

    def resolve(self, kind: type[Node], value: Any, implicit: Any) -> str:
        if kind is ScalarNode and implicit[0]:
            return _PLAIN
        return str(super().resolve(kind, value, implicit))  # type: ignore[no-untyped-call]


def _is_json(text: str, document: Node) -> bool:
    """Return whether kubectl reads the document as JSON: the text begins with an object, and this document is JSON."""
    if not _BEGINS_WITH_OBJECT.match(text):
        return False
    try:
        json.loads(text[document.start_mark.index : document.end_mark.index])
    except ValueError:
        return False
    return True


def _joined(text: str) -> str | None:
    """Return ``text`` with one character for each pair of surrogates, or None if a surrogate has no partner."""
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return None


@dataclass
class _Reading:
    is_json: bool = False
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    around: list[Node] = field(default_factory=list)  # the nodes that contain the current node, outermost first
    seen: set[int] = field(default_factory=set)  # by id
    repeated: int = 0

    def value(self, node: Node, path: Path) -> Any:
        self._count(node)
        self.lines.setdefault(path_text(path), node.start_mark.line + 1)
        if node in self.around:
            raise YamlError(node.start_mark.line + 1, "an alias (*) is part of its own anchor (&); remove the alias")
        self.around.append(node)
        # An alias has all levels of its target.
        _check_level(len(self.around), node.start_mark.line)
        try:
            return self._inside(node, path)
        finally:
            self.around.pop()

    def _count(self, node: Node) -> None:
        self.repeated += id(node) in self.seen
        self.seen.add(id(node))
        if self.repeated > _MAX_REPEATED_VALUES:
            # Report the line of the outermost value, because anchors repeat in each branch below it.
            line = self.around[min(1, len(self.around) - 1)].start_mark.line + 1
            text = (
                f"aliases (*) repeat more than {_MAX_REPEATED_VALUES:,} values; write fewer aliases, or smaller "
                "anchors (&)"
            )
            raise YamlError(line, text)

    def _inside(self, node: Node, path: Path) -> Any:
        match node:
            case MappingNode():
                return self._mapping(node, path)
            case SequenceNode():
                return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
            case ScalarNode():
                return self._scalar(node, path)
        raise TypeError(f"YAML has no node {node!r}")

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _PLAIN and key_node.value == _MERGE:
                # Merged values keep their own lines. The mapping's own keys override them.
                merged = self._merged(value_node, path) | merged
                continue
            key = self._key(key_node, path)
            if key in own:
                self._problem(
                    (*path, key), f"appears again on line {key_node.start_mark.line + 1}; keep one of the two"
                )
            self.lines[path_text((*path, key))] = key_node.start_mark.line + 1
            own[key] = self.value(value_node, (*path, key))
        return merged | own

    def _merged(self, node: Node, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for inner in node.value if isinstance(node, SequenceNode) else [node]:
            if isinstance(inner, MappingNode):
                found = self.value(inner, path) | found
            else:
                self._problem(path, "<< merges only mappings, and this is not a mapping; name a mapping with *")
        return found

    def _key(self, node: Node, path: Path) -> str:
        if not isinstance(node, ScalarNode):
            kind = "mapping" if isinstance(node, MappingNode) else "list"
            raise YamlError(node.start_mark.line + 1, f"a {kind} cannot be a key; quote text that begins with {{ or [")
        value = self._scalar(node, path)
        if isinstance(value, bool):
            word = "true" if value else "false"
            self._problem((*path, word), f'the key "{node.value}" is read as {word}; put the key in quotes')
            return word
        return value if isinstance(value, str) else str(node.value)

    def _scalar(self, node: ScalarNode, path: Path) -> Any:
        if not node.value.isascii() and _HALF_CHARACTER.search(node.value):
            return self._with_halves(node.value, path)
        if node.tag == _TEXT:
            return node.value
        if node.tag != _PLAIN and not node.tag.startswith("tag:yaml.org,2002:"):
            self._problem(path, f"the tag {node.tag} means nothing in a manifest; leave the tag out")
        if _NOT_FINITE.fullmatch(node.value):
            self._problem(
                path,
                f"{node.value} is a number that JSON does not have; put it in quotes, and convert the text in your "
                "code",
            )
            return None
        return plain_value(node.value)

    def _with_halves(self, text: str, path: Path) -> str | None:
        """Read a character that has two escapes, as in JSON: ``"\\ud83d\\ude00"``. In YAML, it has one escape."""
        whole = _joined(text)
        if whole is None:
            self._problem(path, "half of a character (a surrogate) is not text; write the whole character")
        elif not self.is_json:
            self._problem(
                path, "two escapes for one character (surrogates) are valid only in JSON; write the character"
            )
        return whole if self.is_json else None

    def _problem(self, path: Path, message: str) -> None:
        self.problems.append(Problem(path_text(path), message))


def _check_level(level: int, line: int) -> None:
    """Raise YamlError if ``level``, counted from 1, is too deep. ``line`` counts from 0."""
    if level > _MAX_LEVELS + 1:
        raise YamlError(
            line + 1, f"nested more than {_MAX_LEVELS} levels deep; flatten the value, or pass the value as JSON text"
        )


def plain_value(word: str) -> str | int | float | bool | None:
    """Return the value that kubectl reads from an unquoted word."""
    if word in _WORDS:
        return _WORDS[word]
    if word[0] not in "+-.0123456789":
        return word
    digits = word if word[0] == "." else word.replace("_", "")
    if match := _INTEGER.fullmatch(digits):
        sign, *by_base = match.groups()
        base, number = next((b, n) for b, n in zip((16, 2, 8, 10), by_base, strict=True) if n is not None)
        if len(number) > _MOST_DIGITS:
            return word
        value = int(sign + number, base)
        try:
            return value if abs(value) <= _LARGEST_INTEGER else float(value)
        except OverflowError:
            return word
    if _FLOAT.fullmatch(digits):
        number_ = float(digits)
        return number_ if math.isfinite(number_) else word
    return word
