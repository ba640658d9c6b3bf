"""No name and no text of a user, a manifest or a cluster leads a request astray or controls the terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.manifests import manifest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.faults import COMMANDS, Said, one_sentence
from tests.unit.collectorfleet.cli.played_api import NAME, ApiServer, Request

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main
from collectorfleet.client import FleetRejected, Fleets, connect

HOSTILE = "\x1b[2J\x9b31m\u202e\rtwo\nlines"
NO_NAMES = ("", ".", "..", "../pods", "a/b", "a?b=c", "A", "a b", "\u00e9", "-a", "a\n", "x" * 300)


@pytest.fixture(autouse=True)
def _in_a_folder(folder: Path) -> None:
    """Give each command a folder with code, and the kubeconfig of the played server."""


def hostile_fleet(**status: Any) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(json.dumps(played_api.FLEET))
    for condition in stored["status"]["conditions"]:
        condition["message"] = HOSTILE
    stored["status"] |= status
    return stored


def controls(text: str) -> set[str]:
    return {one for one in text if not one.isprintable()} - {"\n"}


@pytest.mark.parametrize("name", NO_NAMES, ids=ascii)
@pytest.mark.parametrize("command", ["status", "status -w", "top", "logs", "stop", "resume"])
def test_what_cannot_name_a_fleet_is_not_asked_for(command: str, name: str, server: ApiServer, said: Said) -> None:
    words = [word for word in COMMANDS[command] if word != NAME]
    assert main([*words, "--", name]) == ExitCode.FAILED
    assert one_sentence(said()[1]).startswith("error: no fleet '")
    assert server.requests == []


@pytest.mark.parametrize("namespace", [name for name in (*NO_NAMES, "a.b") if name], ids=ascii)
@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "submit"])
def test_what_cannot_name_a_namespace_is_not_asked_for(
    command: str, namespace: str, server: ApiServer, said: Said
) -> None:
    assert main([*COMMANDS[command], f"--namespace={namespace}"]) == ExitCode.USER
    assert "namespace '" in one_sentence(said()[1])
    assert server.requests == []


def test_a_kubeconfig_with_such_a_namespace_is_named(folder: Path, server: ApiServer, said: Said) -> None:
    content = played_api.kubeconfig(server.url)
    content["contexts"][0]["context"]["namespace"] = ".."
    file = played_api.written(folder, content)
    assert main(["status", "--kubeconfig", file]) == ExitCode.USER
    assert f"kubeconfig {file}: namespace '..': " in one_sentence(said()[1])
    assert server.requests == []


def test_an_empty_namespace_is_that_of_the_context(server: ApiServer) -> None:
    assert main(["status", "-n", ""]) == ExitCode.DONE
    assert f"/namespaces/{played_api.NAMESPACE}/" in server.requests[0]


@pytest.mark.parametrize("beside", [False, True], ids=["the fleet", "a ConfigMap"])
def test_an_object_with_such_a_name_is_not_sent(beside: bool, server: ApiServer) -> None:
    wrong = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": ".."}}
    connection = connect()
    fleet = manifest(name=NAME) if beside else {**manifest(), "metadata": {"name": ".."}}
    with connection.api, pytest.raises(FleetRejected, match=r"'\.\.': use lower-case letters"):
        Fleets(connection).submit(fleet, *([wrong] if beside else []))
    assert [request for request in server.requests if "dryRun=All" not in request] == []


@pytest.mark.parametrize(
    "words",
    [
        ["status", NAME],
        ["status", NAME, "-o", "json"],
        ["status", NAME, "-o", "yaml"],
        ["status", "-o", "yaml"],
        ["status", "-o", "wide"],
        ["top", NAME, "--once"],
        ["stop", NAME],
        ["resume", NAME],
    ],
    ids=" ".join,
)
def test_no_message_of_a_fleet_controls_the_terminal(words: list[str], server: ApiServer, said: Said) -> None:
    server.fleet = hostile_fleet(phase="Completed")
    main(words)
    out, err = said()
    assert controls(out + err) == set()
    assert "x1b" in out + err or "u001b" in out or "\\e" in out or words[-1] == "wide"


@pytest.mark.parametrize(
    "progress",
    [
        {"framesDelivered": 200, "totalFrames": 1000, "framesPerSecond": 5e-324},
        {"framesDelivered": 10**30, "totalFrames": 1000, "framesPerSecond": 1e308},
        {"framesDelivered": -5, "totalFrames": -1000, "metrics": {"m": "text"}},
        {"lastBatchTime": "9999-12-31T23:59:59Z", "collectors": None},
        ["text"],
    ],
    ids=["slow", "huge", "negative", "future", "a list"],
)
@pytest.mark.parametrize("words", [["status", NAME], ["status", "-o", "json"], ["top", "--once"]], ids=" ".join)
def test_odd_numbers_of_one_fleet_do_not_hide_the_others(
    words: list[str], progress: object, server: ApiServer, said: Said
) -> None:
    server.fleet = {**played_api.FLEET, "status": {**played_api.FLEET["status"], "progress": progress}}
    assert main(words) == ExitCode.DONE
    out, err = said()
    assert err == ""
    assert NAME in out
    if words[-1] == "json":
        assert "Infinity" not in out


def test_yaml_for_programs_has_the_message_unchanged(server: ApiServer, said: Said) -> None:
    server.fleet = hostile_fleet()
    assert main(["status", NAME, "-o", "yaml"]) == ExitCode.DONE
    assert yaml.safe_load(said()[0])["status"]["conditions"][0]["message"] == HOSTILE


FILES = {
    "a kind": {"apiVersion": "v1", "kind": HOSTILE, "metadata": {"name": HOSTILE}},
    "a kind of ours": {"apiVersion": "collectorfleet.dev/v1alpha1", "kind": HOSTILE},
    "a field": manifest() | {"spec": {HOSTILE: 1}},
    "a value": manifest({"spec.policy.factory": HOSTILE}),
}


@pytest.mark.parametrize("what", FILES)
@pytest.mark.parametrize("words", [["validate"], ["render"], ["submit", "folder", "-f"]], ids=" ".join)
def test_no_manifest_controls_the_terminal(words: list[str], what: str, tmp_path: Path, said: Said) -> None:
    file = tmp_path / "hostile.yaml"
    file.write_text(json.dumps(FILES[what]))
    assert main([*words, str(file)]) == ExitCode.USER
    out, err = said()
    assert controls(out + err) == set()
    assert f"{file}:1: error: " in out + err or "only \\x1b" in out + err or "has 0 fleets" in err


def test_a_rendered_manifest_does_not_control_the_terminal(tmp_path: Path, said: Said) -> None:
    file = tmp_path / "hostile.yaml"
    file.write_text(json.dumps(manifest({"spec.driver.train.kwargs": {"title": HOSTILE}})))
    assert main(["render", str(file)]) == ExitCode.DONE
    assert controls(said()[0]) == set()


LOG = (
    b"(c0 pid=7) \x1b[31mred\x1b[2J\x1b]0;title\x07\n 10%|#\r 20%|##\r\nfoo\rdriver | forged\n(\x1b[2Jx pid=7) \tend\n"
)
ON_A_TERMINAL = [
    "c0     | \x1b[31mred\\x1b[2J\\x1b]0;title\\x07\x1b[0m\n",
    "driver |  20%|##\n",
    "driver | driver | forged\n",
    "\\x1b[2Jx | \tend\n",
]
IN_A_FILE = [
    "c0     | \x1b[31mred\x1b[2J\x1b]0;title\x07\n",
    "driver |  10%|#\r 20%|##\n",
    "driver | foo\rdriver | forged\n",
    "\\x1b[2Jx | \tend\n",
]


@pytest.mark.parametrize(
    ("is_terminal", "expected"), [(True, ON_A_TERMINAL), (False, IN_A_FILE)], ids=["terminal", "file"]
)
def test_a_log_on_a_terminal_has_its_colors_alone(
    is_terminal: bool, expected: list[str], server: ApiServer, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(request: Request) -> None:
        if request.path.partition("?")[0].endswith("/log"):
            request.send(200, LOG, "text/plain")
        else:
            request.serve()

    server.answer = serve
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    assert main(["logs", NAME]) == ExitCode.DONE
    out, err = said()
    assert (out, err) == ("".join(expected), "")
