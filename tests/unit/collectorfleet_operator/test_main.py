"""The operator's program, where its packages are not installed."""

from __future__ import annotations

import re
import tomllib

from tests.cluster.binaries import ROOT

from collectorfleet_operator.__main__ import NEEDS


def test_the_modules_are_those_of_the_packages_in_the_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(NEEDS.modules) == {re.split(r"[^\w-]", package)[0].replace("-", "_") for package in extras["operator"]}
    assert NEEDS.missing() == []
