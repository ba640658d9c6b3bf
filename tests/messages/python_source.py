"""The messages of a Python file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final

from tests.messages.python_texts import PUT_IN, Constants, inner, texts

# Calls and arguments whose texts are messages, also those of one word.
_SAYING: Final = {
    *("condition", "print", "print_line", "print_problem", "require", "warn"),
    *("critical", "debug", "error", "exception", "info", "warning"),
}
_SAID: Final = {"description", "epilog", "help", "message"}
# Calls whose texts are on other pages (fields, metrics), or are patterns and CEL.
_SKIPPED: Final = {
    *("Field", "_free_form", "_typed"),
    *("Counter", "Gauge", "Histogram", "GaugeMetricFamily", "CounterMetricFamily"),
    *("Number", "compile", "filterwarnings", "fullmatch", "sub"),
}
_WORD: Final = re.compile(r"\S*[A-Za-z]{2}\S*")
_CEL: Final = re.compile(r"\bself\.\w|&&|\bhas\(| [!=<>]= |\.(?:all|exists|filter|map)\(|\bk in\b")
_CEL_MESSAGE: Final = re.compile(r"'(.*?)'\.format\(\[.*")
_NOT_PROSE: Final = re.compile(r"</?[a-z]+[ >]|/>|\{[a-z-]+:\S|=\"|^import |\| `|\0")


def messages_of(tree: ast.Module, constants: Constants) -> Iterator[str]:
    """Yield the messages of a file in their order."""
    for statement in tree.body:
        found = list(_of(statement, constants, said=False))
        if found and not any(_is_only_compared(name, tree) for name, _ in _assigned(statement)):
            yield from found


def constants_of(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the expressions that a file assigns to names at its top level."""
    return {name: value for statement in tree.body for name, value in _assigned(statement)}


def _assigned(statement: ast.stmt) -> list[tuple[str, ast.expr]]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return [(name, value)]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return [(name, value)]
    return []


def _is_only_compared(name: str, tree: ast.Module) -> bool:
    """Return whether a file only compares a text with others. The text is then what another program says."""
    nodes = list(ast.walk(tree))
    uses = [one for one in nodes if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)]
    sides = [side for one in nodes if isinstance(one, ast.Compare) for side in (one.left, *one.comparators)]
    return bool(uses) and all(use in sides for use in uses)


def _of(node: ast.AST, constants: Constants, *, said: bool) -> Iterator[str]:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Compare() | ast.MatchValue():
            return
        case ast.Name() | ast.Attribute(value=ast.Name()):
            return
        case ast.ClassDef(bases=bases) if any(_name(base).endswith("Enum") for base in bases):
            return
        case ast.Call(func=func) if _name(func) in _SKIPPED:
            return
        case ast.Raise(exc=ast.Call(func=func, args=args, keywords=keywords)):
            yield from _each([func], constants, said=False)
            yield from _each([*args, *keywords], constants, said=True)
        case ast.expr() if found := texts(node, constants):
            yield from (shown for text in found if (shown := _shown(text, said=said)))
            yield from _each(inner(node, constants), constants, said=False)
        case ast.Call(func=func, args=args, keywords=keywords):
            yield from _each([func], constants, said=False)
            yield from _each([*args, *keywords], constants, said=_name(func) in _SAYING)
        case ast.keyword(arg=arg, value=value):
            yield from _of(value, constants, said=said or arg in _SAID)
        case ast.Dict(values=values):
            yield from _each(values, constants, said=said)
        case ast.Subscript(value=value, slice=key):
            yield from _each([value] if texts(key, constants) else [value, key], constants, said=said)
        case _:
            yield from _each(ast.iter_child_nodes(node), constants, said=said and isinstance(node, ast.Starred))


def _each(nodes: Iterable[ast.AST], constants: Constants, *, said: bool) -> Iterator[str]:
    for node in nodes:
        yield from _of(node, constants, said=said)


def _name(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def _shown(text: str, *, said: bool) -> str:
    """Return a text without its frame in CEL, or an empty text if it is not a message."""
    text = _CEL_MESSAGE.sub(r"\1", text)
    fewest = 1 if said else 2 if PUT_IN in text else 3
    is_message = " " in text and len(_WORD.findall(text)) >= fewest
    return text if is_message and not _CEL.search(text) and not _NOT_PROSE.search(text) else ""
