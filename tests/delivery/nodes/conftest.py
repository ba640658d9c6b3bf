"""Fixtures of the tests on real nodes, which are those of the end-to-end tests."""

from __future__ import annotations

from tests.e2e.conftest import cluster, namespace, pytest_runtest_makereport

__all__ = ["cluster", "namespace", "pytest_runtest_makereport"]
