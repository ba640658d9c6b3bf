"""Variants of tests: what each is a variant of is run by `make test`."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def named(tree: ast.AST) -> set[str]:
    """The tests that marks in ``tree`` say something is a variant of."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    marks = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "variant_of"]
    return {str(argument.value) for mark in marks for argument in mark.args if isinstance(argument, ast.Constant)}


def test_what_a_variant_names_is_a_test_that_is_always_run() -> None:
    texts = [file.read_text() for file in TESTS.rglob("test_*.py")]
    wanted = set().union(*(named(ast.parse(text)) for text in texts if "variant_of" in text))
    assert wanted
    for name in wanted:
        file, _, test = name.partition("::")
        tree = ast.parse((TESTS.parent / file).read_text())
        found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == test]
        assert len(found) == 1, name
        # The mark of a parameter leaves the other parameters.
        whole = [mark for mark in found[0].decorator_list if "parametrize" not in ast.unparse(mark)]
        assert not any(map(named, whole)), name
