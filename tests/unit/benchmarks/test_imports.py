"""Each module of the benchmarks imports with the installed packages."""

from __future__ import annotations

import importlib
import pkgutil

import benchmarks
import pytest

MODULES = [found.name for found in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")]


# A module `__main__` measures as soon as it is imported.
@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith(".__main__")])
def test_a_module_of_the_benchmarks_imports(name: str) -> None:
    importlib.import_module(name)
