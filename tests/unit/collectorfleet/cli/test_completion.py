"""What shells and kubectl are told may stand next."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable

import pytest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.played_api import CONTEXT, NAME, NAMESPACE, ApiServer

from collectorfleet.cli import completion

# On a busy machine, the API server of the test may answer later than a user would wait.
PROGRAM = (
    "import sys; from collectorfleet.cli import completion; completion._SECONDS = 60; "
    "from collectorfleet.cli.main import complete_kubectl_plugin as it; sys.exit(it())"
)

Completed = Callable[..., list[str]]


@pytest.fixture
def completed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Completed:
    """Return a function that completes words in this process. A process for each case takes seconds of CPU time."""
    # argcomplete would open the file number 9, which a shell provides, and which is another file of this process.
    monkeypatch.setattr("argcomplete.finders.CompletionFinder._init_debug_stream", lambda _: None)
    monkeypatch.setattr("argcomplete.io.debug_stream", io.StringIO())
    monkeypatch.setattr(completion, "_SECONDS", 60)
    for name in ("_ARGCOMPLETE", "_ARGCOMPLETE_IFS", "COMP_LINE", "COMP_POINT"):
        monkeypatch.setenv(name, "")  # restores the variable that the command sets

    def one(*words: str) -> list[str]:
        assert completion.complete(words, "kubectl cfleet") == 0
        return printed(capsys.readouterr().out)

    return one


def printed(text: str) -> list[str]:
    *found, directive = text.splitlines()
    assert directive == ":4"
    return [one.strip() for one in found if one.strip()]


def completed_by_the_program(*words: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=True)
    return printed(done.stdout)


def test_the_program_completes_commands() -> None:
    assert completed_by_the_program("st") == ["status", "stop"]


def test_the_program_completes_names_of_fleets_on_the_cluster(lab: ApiServer) -> None:
    assert completed_by_the_program("status", NAME[:2]) == [NAME]
    assert NAMESPACE in lab.requests[0]


def test_kubectl_completes_commands(completed: Completed) -> None:
    assert completed("st") == ["status", "stop"]
    assert "top" in completed("")


def test_kubectl_completes_options_of_a_command(completed: Completed) -> None:
    assert completed("logs", "--fo") == ["--follow"]


def test_no_cluster_is_no_error_in_the_middle_of_a_line(completed: Completed) -> None:
    assert completed("status", "--kubeconfig", "/nowhere", "") == []


@pytest.mark.parametrize("command", ["status", "top", "logs", "report", "stop", "resume"])
def test_names_are_those_of_fleets_on_the_cluster(command: str, lab: ApiServer, completed: Completed) -> None:
    assert completed(command, NAME[:2]) == [NAME]
    assert NAMESPACE in lab.requests[0]
    assert completed(command, "-n", "other", "") == [NAME]
    assert "/namespaces/other/" in lab.requests[1]


@pytest.mark.parametrize("command", ["status", "submit"])
@pytest.mark.parametrize("option", ["-n", "--namespace"])
@pytest.mark.usefixtures("lab")
def test_namespaces_are_those_of_the_cluster(command: str, option: str, completed: Completed) -> None:
    assert completed(command, option, "def") == ["default", "default-2"]


@pytest.mark.usefixtures("lab")
def test_contexts_are_those_of_the_kubeconfig(completed: Completed) -> None:
    assert completed("top", "--context", "") == [CONTEXT]


def test_formats_are_completed(completed: Completed) -> None:
    assert completed("status", "-o", "") == ["json", "yaml", "name", "wide"]


@pytest.mark.parametrize("words", [["status", ""], ["status", "-n", ""]], ids=" ".join)
def test_a_missing_right_is_no_error_in_the_middle_of_a_line(
    words: list[str], lab: ApiServer, completed: Completed
) -> None:
    lab.answer = played_api.refuse(403, "Forbidden", "no")
    assert completed(*words) == []
