"""No other module uses a private name of TorchRL or TensorDict. Ruff's SLF001 sees attributes; this sees the rest."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT

SOURCES = ROOT / "collector_image/collectorfleet"
ADAPTER = SOURCES / "torchrl_private"
TESTS = Path(__file__).parent
LIBRARIES = ("torchrl", "tensordict")
PRIVATE = re.compile(r"_[a-z]\w*")
MODULES = [file for file in sorted(SOURCES.rglob("*.py")) if ADAPTER not in file.parents]


def names_of(tree: ast.AST) -> Iterator[str]:
    """Private names as attributes, in strings and in imports from TorchRL."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)) if PRIVATE.fullmatch(name):
                yield name
            case ast.ImportFrom(module=str(module), names=imported) if module.split(".")[0] in LIBRARIES:
                parts = [*module.split("."), *(one.name for one in imported)]
                yield from (part for part in parts if PRIVATE.fullmatch(part))


KNOWN = {name for file in ADAPTER.glob("*.py") for name in names_of(ast.parse(file.read_text()))}
# Our classes have attributes of these names, too.
OURS = {"_reset", "_step", "_env", "_envs", "_count", "_update", "_kwargs", "_generator", "_actor", "_frames", "_key"}


def uses(tree: ast.Module) -> Iterator[str]:
    derived = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.bases]
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(name)) if name in KNOWN:
                yield f"line {node.lineno}: {name!r}"
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in LIBRARIES:
                yield from (f"line {node.lineno}: {name}" for name in names_of(node))
    for kind in derived:
        for node in ast.walk(kind):
            match node:
                case ast.Attribute(value=ast.Name("self"), attr=name) if name in KNOWN - OURS:
                    yield f"line {node.lineno}: self.{name}"


def test_the_names_of_the_adapter_are_found() -> None:
    assert len(KNOWN) > 50
    assert {"_carrier", "_final_rollout", "_compiled_step_and_maybe_reset", "_make_compatible_policy"} <= KNOWN


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(SOURCES)))
def test_a_module_uses_no_private_name_of_torchrl(file: Path) -> None:
    assert list(uses(ast.parse(file.read_text()))) == []


@pytest.mark.parametrize("file", sorted(ADAPTER.glob("[a-z]*.py")), ids=lambda file: file.stem)
def test_each_name_of_the_adapter_is_tested_against_the_installed_torchrl(file: Path) -> None:
    tests = "".join(one.read_text() for one in TESTS.glob("test_*.py"))
    tree = ast.parse(file.read_text())
    public = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    public += [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id != "__all__"
    ]
    assert [name for name in public if f".{name}" not in tests] == []
