"""What the command line says."""

from __future__ import annotations

import pytest

from collectorfleet_api.log_lines import LogFormat
from collectorfleet_operator.children.propagation import Propagation
from collectorfleet_operator.edge.settings import from_arguments
from collectorfleet_operator.objects import Key


def test_all_namespaces_unless_some_are_named() -> None:
    assert from_arguments([]).scopes == (None,)
    assert from_arguments(["--namespace", "a", "--namespace=b", "--namespace", "a"]).scopes == ("a", "b")


def test_the_log_is_text_unless_json_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert from_arguments([]).log_format is LogFormat.TEXT
    assert from_arguments(["--log-format=json"]).log_format is LogFormat.JSON
    with pytest.raises(SystemExit):
        from_arguments(["--log-format=xml"])
    assert "choose from" in capsys.readouterr().err


def test_a_lease_is_named_with_its_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    assert from_arguments([]).lease is None
    assert from_arguments(["--lease=system/operator"]).lease == Key("system", "operator")
    for incomplete in ("operator", "system/", "/operator"):
        with pytest.raises(SystemExit):
            from_arguments([f"--lease={incomplete}"])
        assert f"'{incomplete}': write the Lease as NAMESPACE/NAME" in capsys.readouterr().err


def test_labels_are_given_on_by_key_or_by_what_they_begin_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert from_arguments([]).propagation == Propagation()
    told = from_arguments(["--propagate-label=team", "--propagate-label=lab.example.com/*", "--propagate-annotation=*"])
    assert told.propagation == Propagation(labels=("team", "lab.example.com/*"), annotations=("*",))
    for refused, why in {
        "a*b": "a * at the end",
        "app.kubernetes.io/*": "leave the key out",
        "": "give a key",
    }.items():
        with pytest.raises(SystemExit):
            from_arguments([f"--propagate-label={refused}"])
        assert why in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "65536", "http", ""])
def test_a_health_port_is_a_number_that_can_be_listened_on(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert [from_arguments([f"--health-port={good}"]).health_port for good in (0, 65535)] == [0, 65535]
    with pytest.raises(SystemExit):
        from_arguments([f"--health-port={port}"])
    assert f"{port!r} is not a port; write a number from 0 to 65535" in capsys.readouterr().err


def test_an_unknown_option_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        from_arguments(["--namespaces=a"])
    capsys.readouterr()
