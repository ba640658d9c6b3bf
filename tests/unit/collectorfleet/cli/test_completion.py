"""What shells and kubectl are told may stand next."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.played_api import CONTEXT, NAME, NAMESPACE, ApiServer

# On a busy machine, the API server of the test may answer later than a user would wait.
PROGRAM = (
    "import sys; from collectorfleet.cli import completion; completion._SECONDS = 60; "
    "from collectorfleet.cli.main import complete_kubectl_plugin as it; sys.exit(it())"
)


def completed(*words: str) -> list[str]:
    """A process of its own: argcomplete opens what shells give it by number."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=True)
    *found, directive = done.stdout.splitlines()
    assert directive == ":4"
    return [one.strip() for one in found if one.strip()]


def test_kubectl_completes_commands() -> None:
    assert completed("st") == ["status", "stop"]
    assert "top" in completed("")


def test_kubectl_completes_options_of_a_command() -> None:
    assert completed("logs", "--fo") == ["--follow"]


def test_no_cluster_is_no_error_in_the_middle_of_a_line() -> None:
    assert completed("status", "--kubeconfig", "/nowhere", "") == []


@pytest.mark.parametrize("command", ["status", "top", "logs", "report", "stop", "resume"])
def test_names_are_those_of_fleets_on_the_cluster(command: str, lab: ApiServer) -> None:
    assert completed(command, NAME[:2]) == [NAME]
    assert NAMESPACE in lab.requests[0]
    assert completed(command, "-n", "other", "") == [NAME]
    assert "/namespaces/other/" in lab.requests[1]


@pytest.mark.parametrize("command", ["status", "submit"])
@pytest.mark.parametrize("option", ["-n", "--namespace"])
@pytest.mark.usefixtures("lab")
def test_namespaces_are_those_of_the_cluster(command: str, option: str) -> None:
    assert completed(command, option, "def") == ["default", "default-2"]


@pytest.mark.usefixtures("lab")
def test_contexts_are_those_of_the_kubeconfig() -> None:
    assert completed("top", "--context", "") == [CONTEXT]


def test_formats_are_completed() -> None:
    assert completed("status", "-o", "") == ["json", "yaml", "name", "wide"]


@pytest.mark.parametrize("words", [["status", ""], ["status", "-n", ""]], ids=" ".join)
def test_a_missing_right_is_no_error_in_the_middle_of_a_line(words: list[str], lab: ApiServer) -> None:
    lab.answer = played_api.refuse(403, "Forbidden", "no")
    assert completed(*words) == []
