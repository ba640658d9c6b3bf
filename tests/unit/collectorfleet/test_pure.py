"""What calls itself pure is: the docstring is the contract, so that a new file needs no line in any list."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import grimp
import pytest
from tests.cluster.binaries import ROOT

FOLDERS = ("run", "pod", "local", "display")
CLOCKS_THREADS_AND_CLIENTS = {
    *("time", "threading", "asyncio", "socket", "subprocess", "logging"),
    *("ray", "torch", "tensordict", "torchrl", "kubernetes", "aiohttp"),
}
SOURCES = ROOT / "collector_image"


def module(file: Path) -> str:
    return ".".join(file.relative_to(SOURCES).with_suffix("").parts)


def calls_itself_pure(file: Path) -> bool:
    docstring = ast.get_docstring(ast.parse(file.read_text())) or ""
    return re.search(r"\bPure\.", docstring) is not None


PURE = sorted(
    module(file)
    for folder in FOLDERS
    for file in (SOURCES / "collectorfleet" / folder).rglob("*.py")
    if calls_itself_pure(file)
)


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("collectorfleet", "collectorfleet_api", include_external_packages=True, cache_dir=None)


def test_decisions_of_every_surrounding_are_pure() -> None:
    decisions = {"run.exit", "run.position", "run.resume_point", "pod.lease", "pod.report_schedule", "local.status"}
    assert {f"collectorfleet.{name}" for name in decisions} <= set(PURE)


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_reaches_no_clock_no_thread_and_no_client(imports: grimp.ImportGraph, name: str) -> None:
    assert imports.find_upstream_modules(name) & CLOCKS_THREADS_AND_CLIENTS == set()
