"""Variants of tests: what each is a variant of is run by `make test`."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]
TREES = {file.relative_to(TESTS.parent): ast.parse(file.read_text()) for file in TESTS.rglob("test_*.py")}


def named(tree: ast.AST) -> set[str]:
    """The tests that marks in ``tree`` say something is a variant of."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    marks = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "variant_of"]
    return {str(argument.value) for mark in marks for argument in mark.args if isinstance(argument, ast.Constant)}


def test_what_a_variant_names_is_a_test_that_is_always_run() -> None:
    functions = {
        f"{file}::{node.name}": node
        for file, tree in TREES.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    wanted = set().union(*map(named, TREES.values()))
    assert wanted
    assert wanted - functions.keys() == set()
    for name in wanted:
        # The mark of a parameter leaves the other parameters.
        whole = [mark for mark in functions[name].decorator_list if "parametrize" not in ast.unparse(mark)]
        assert not any(map(named, whole)), name
