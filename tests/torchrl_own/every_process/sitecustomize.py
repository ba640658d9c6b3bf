"""Python imports this when it starts: most of those tests run in a process of their own, which knows no plugin."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_TESTS = ("test_distributed", "test_collectors")


class _Before(MetaPathFinder):
    """Whoever imports one of the files of tests imports the plugin first."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _TESTS:
            sys.meta_path.remove(self)
            importlib.import_module("tests.torchrl_own.in_its_place")
        return None


sys.meta_path.insert(0, _Before())
