"""The texts of a Python expression, with ``…`` for each value that the program puts in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

PUT_IN: Final = "…"
_PERCENT: Final = re.compile(r"%(?:\(\w+\))?(?:\.?\d+)?[a-z]\b")
_BRACES: Final = re.compile(r"\{\w*\}")
# Methods whose result has the words of the text.
_KEEPING: Final = {"encode", "format", "lower", "rstrip", "strip"}

# The texts of names such as `names.FLEET_LABEL`.
Constants = Mapping[str, Sequence[str]]


def texts(node: ast.expr, constants: Constants) -> list[str]:
    """Return the possible texts of an expression. The list is empty if the expression has no text.

    Each value of a conditional expression is part of at least one text.
    """
    return list(dict.fromkeys(_tidy(text) for text in _texts(node, constants)))


def inner(node: ast.expr, constants: Constants) -> Iterator[ast.expr]:
    """Yield the parts of an expression that :func:`texts` replaces by ``…``, such as calls in an f-string."""
    if not _texts(node, constants):
        yield node
        return
    for part in _parts(node):
        yield from inner(part, constants)


def _parts(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.JoinedStr(values=values):
            return [value.value for value in values if isinstance(value, ast.FormattedValue)]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.BoolOp(values=values):
            return values
        case ast.Call(func=ast.Attribute(value=value), args=args, keywords=keywords):
            return [value, *args, *(one.value for one in keywords)]
    return []


def _texts(node: ast.expr, constants: Constants) -> Sequence[str]:
    match node:
        case ast.Constant(value=str(text)):
            return [_BRACES.sub(PUT_IN, _PERCENT.sub(PUT_IN, text))]
        case ast.JoinedStr(values=values):
            return _joined([_part(value, constants) for value in values])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            sides = [_texts(left, constants), _texts(right, constants)]
            return _joined([side or [PUT_IN] for side in sides]) if any(sides) else []
        case ast.BinOp(left=left, op=ast.Mod()):
            return _texts(left, constants)
        case ast.IfExp(body=body, orelse=orelse):
            return _either([body, orelse], constants)
        case ast.BoolOp(values=values):
            return _either(values, constants)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in _KEEPING:
            return _texts(value, constants)
        case ast.Name(id=name):
            return constants.get(name, [])
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return constants.get(f"{module}.{name}", [])
    return []


def _either(choices: list[ast.expr], constants: Constants) -> Sequence[str]:
    found = [_texts(choice, constants) for choice in choices]
    return [text for each in found for text in (each or [PUT_IN])] if any(found) else []


def _part(value: ast.expr, constants: Constants) -> Sequence[str]:
    """Return the texts of one part of an f-string."""
    if isinstance(value, ast.Constant):
        return [_PERCENT.sub(PUT_IN, str(value.value))]
    return (isinstance(value, ast.FormattedValue) and _texts(value.value, constants)) or [PUT_IN]


def _joined(parts: Sequence[Sequence[str]]) -> list[str]:
    """Join the first text of each part. Then replace one part at a time by its other texts."""
    first = [part[0] for part in parts]
    varied = [[*first[:index], text, *first[index + 1 :]] for index, part in enumerate(parts) for text in part[1:]]
    return ["".join(choice) for choice in [first, *varied]]


def _tidy(text: str) -> str:
    return re.sub(rf"{PUT_IN}+", PUT_IN, " ".join(text.split()))
