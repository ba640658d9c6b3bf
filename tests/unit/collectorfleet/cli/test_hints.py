"""Hints in messages: the command to run next."""

from __future__ import annotations

import shutil

import pytest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.faults import Said
from tests.unit.collectorfleet.cli.played_api import NAME, ApiServer, Request

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main

pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize(
    ("words", "where"),
    [
        ([], ""),
        (["-n", "lab"], " -n lab"),
        (["--context", played_api.CONTEXT, "--kubeconfig", "kubeconfig"], " --context played --kubeconfig kubeconfig"),
        (["--kubeconfig", "a b"], " --kubeconfig 'a b'"),
    ],
    ids=["as configured", "namespace", "context", "a name with a space"],
)
@pytest.mark.parametrize("program", ["collectorfleet", "kubectl cfleet"])
@pytest.mark.parametrize("command", ["stop", "resume", "submit"])
def test_the_next_command_can_be_pasted_into_the_shell(
    command: str, program: str, words: list[str], where: str, said: Said
) -> None:
    shutil.copy("kubeconfig", "a b")
    assert main([command, "folder" if command == "submit" else NAME, *words], prog=program) == ExitCode.DONE
    assert f"`{program} status {NAME}{where}`" in said()[0]


@pytest.mark.parametrize(
    ("who", "note"),
    [
        ("c0", ""),
        ("driver", ""),
        ("c7", "note: no line is from c7; the lines are from c0, driver\n"),
        ("\x1b[2J", "note: no line is from \\x1b[2J; the lines are from c0, driver\n"),
    ],
)
def test_a_source_without_lines_is_told_beside_those_that_have_some(who: str, note: str, said: Said) -> None:
    assert main(["logs", NAME, f"--of={who}"]) == ExitCode.DONE
    out, err = said()
    assert (bool(out), err) == (not note, note)


def test_a_log_of_many_sources_names_a_few(server: ApiServer, said: Said) -> None:
    lines = b"".join(b"(c%d pid=1) hello\n" % number for number in range(30))

    def serve(request: Request) -> None:
        if request.path.partition("?")[0].endswith("/log"):
            request.send(200, lines, "text/plain")
        else:
            request.serve()

    server.answer = serve
    assert main(["logs", NAME, "--of=driver"]) == ExitCode.DONE
    err = said()[1]
    assert err.endswith(" and others\n")
    assert err.count(", ") == 9
