"""The messages of all Python files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.messages.python_source import constants_of, messages_of
from tests.messages.python_texts import texts

_FOLDERS: Final = ("crds/collectorfleet_api", "operator/collectorfleet_operator", "collector_image/collectorfleet")


@cache
def python_messages(root: Path) -> list[tuple[str, str]]:
    """Return the name of a module, such as ``collectorfleet.cli.run``, with each of its messages."""
    return list(_PythonFiles(root).messages())


class _PythonFiles:
    """The parsed files, with the texts that they import from each other."""

    def __init__(self, root: Path) -> None:
        paths = [path for folder in _FOLDERS for path in sorted((root / folder).rglob("*.py"))]
        self._trees = {_module(path.relative_to(root)): ast.parse(path.read_text()) for path in paths}
        self._constants: dict[str, dict[str, list[str]]] = {}

    def messages(self) -> Iterator[tuple[str, str]]:
        for module, tree in self._trees.items():
            for message in messages_of(tree, self._imported(module) | self._own(module)):
                yield module, message

    def _own(self, module: str) -> dict[str, list[str]]:
        """Return the texts of the names that a module defines."""
        if module not in self._constants:
            self._constants[module] = own = {}
            known = self._imported(module)
            for name, value in constants_of(self._trees[module]).items():
                known[name] = own[name] = texts(value, known)
        return self._constants[module]

    def _imported(self, module: str) -> dict[str, list[str]]:
        """Return the texts of the names that a module imports at its top level."""
        found: dict[str, list[str]] = {}
        imports = [one for one in self._trees[module].body if isinstance(one, ast.ImportFrom)]
        for source, one in ((statement.module or "", one) for statement in imports for one in statement.names):
            name, inner = one.asname or one.name, f"{source}.{one.name}"
            if inner in self._trees:
                found |= {f"{name}.{constant}": said for constant, said in self._own(inner).items()}
            elif source in self._trees and one.name in self._own(source):
                found[name] = self._own(source)[one.name]
        return found


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts[1:]).removesuffix(".__init__")
