"""What the command line says."""

from __future__ import annotations

import pytest

from collectorfleet_operator.edge.settings import from_arguments


def test_all_namespaces_unless_some_are_named() -> None:
    assert from_arguments([]).scopes == (None,)
    assert from_arguments(["--namespace", "a", "--namespace=b", "--namespace", "a"]).scopes == ("a", "b")


def test_an_unknown_option_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        from_arguments(["--namespaces=a"])
    capsys.readouterr()
