"""Variants of tests: what each is a variant of is run by `make test`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]


def tests_and_marks() -> Iterator[tuple[str, list[str]]]:
    """Each test function by its id without parameters, with the ids that it says it is a variant of."""
    for file in TESTS.rglob("test_*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                calls = [call for decorator in node.decorator_list for call in ast.walk(decorator)]
                yield f"{file.relative_to(TESTS.parent)}::{node.name}", [*filter(None, map(variant_of, calls))]


def variant_of(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "variant_of":
        return None
    (named,) = node.args
    assert isinstance(named, ast.Constant), ast.unparse(node)
    return str(named.value)


def test_what_a_variant_names_is_a_test_that_is_always_run() -> None:
    marks = dict(tests_and_marks())
    named = {name for names in marks.values() for name in names}
    assert named
    assert named - marks.keys() == set()
    # A mark of one parameter leaves the others.
    whole = {test for test, names in marks.items() if names and "param(" not in source(test)}
    assert named & whole == set()


def source(test: str) -> str:
    file, _, name = test.partition("::")
    (found,) = (
        node
        for node in ast.parse((TESTS.parent / file).read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    return "".join(map(ast.unparse, found.decorator_list))
