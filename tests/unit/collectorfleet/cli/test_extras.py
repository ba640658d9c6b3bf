"""Which packages a command misses; `tests/unit/wheel` shows it with real environments."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT

from collectorfleet.cli.extras import COMPARE, EXPORT, EXPORT_OF_FLEET, NEEDED_BY, NotInstalled, require
from collectorfleet_api.extras import Needs, is_installed

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
# What a command works without: one completes words for a shell, the others write a log or videos if the user asks.
NOT_NEEDED = {"argcomplete", "pillow", "tensorboard"}
# The module of a package whose name differs.
MODULES = {"websocket_client": "websocket"}


@pytest.mark.parametrize("extra", ["client", "compare", "runtime"])
def test_the_modules_are_those_of_the_packages_in_the_extra(extra: str) -> None:
    declared = {re.split(r"[^\w-]", package)[0].replace("-", "_") for package in EXTRAS[extra]}
    modules = {
        module
        for needs in (*NEEDED_BY.values(), COMPARE, EXPORT, EXPORT_OF_FLEET)
        if needs.extra == extra
        for module in needs.modules
    }
    assert modules == {MODULES.get(package, package) for package in declared} - NOT_NEEDED
    assert [module for module in modules if not is_installed(module)] == []


def test_all_that_is_missing_is_named() -> None:
    with pytest.raises(NotInstalled) as refused:
        require(Needs("runtime", ("torsh", "json", "rey")), "collectorfleet run")
    assert str(refused.value) == (
        "collectorfleet run needs packages that are not installed (torsh, rey): pip install 'collectorfleet[runtime]'"
    )


def test_a_folder_of_the_user_with_the_name_of_a_package_is_not_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dulvich").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_installed("dulvich")
