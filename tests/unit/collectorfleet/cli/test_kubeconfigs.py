"""A kubeconfig or a service account that leads to no cluster is a sentence and a code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.faults import COMMANDS, Said, one_sentence
from tests.unit.collectorfleet.cli.played_api import CONTEXT, ApiServer

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main

pytestmark = pytest.mark.usefixtures("folder")


def config(**changes: Any) -> str:
    return json.dumps({**played_api.kubeconfig("http://127.0.0.1:1"), **changes})


VERSION = "client.authentication.k8s.io/v1"
CREDENTIAL = {"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": "secret-token"}}


def with_plugin(script: str) -> str:
    plugin = {"command": "sh", "args": ["-c", script], "apiVersion": VERSION, "interactiveMode": "Never"}
    return config(users=[{"name": "u", "user": {"exec": plugin}}])


KUBECONFIGS: dict[str, tuple[bytes | str | None, str]] = {
    "missing": (None, "the file does not exist"),
    "empty": ("", "is empty"),
    "plain text": ("token secret-token", "it is not a valid kubeconfig"),
    "half YAML": (config()[:90], "it is not a valid kubeconfig"),
    "binary": (b"\x00\xff\xfe secret-token", "it is not a valid kubeconfig"),
    "a list": ("[secret-token]", "it is not a valid kubeconfig"),
    "without contexts": ("apiVersion: v1", ""),
    "without a current context": (json.dumps({**json.loads(config()), "current-context": None}), ""),
    "with an unknown current context": (config(**{"current-context": "other"}), "other"),
    "with an odd user": (config(users=[{"name": "u", "token": "secret-token"}]), ""),
    "with text for users": (config(users="secret-token"), ""),
    "with a plugin that is not installed": (
        config(users=[{"name": "u", "user": {"exec": {"command": "no-such-login", "apiVersion": "v1"}}}]),
        "the credential plugin failed: [Errno 2] No such file or directory: 'no-such-login'",
    ),
    "with a plugin that fails": (
        with_plugin("printf 'log\\033[2Jin\\nagain' >&2; exit 3"),
        "process returned 3. log\\x1b[2Jin again",
    ),
    "with a plugin that prints garbage": (with_plugin("echo garbage"), "failed to decode process output"),
    "with a plugin that prints bytes": (with_plugin("printf '\\377'"), "the credential plugin failed: 'utf-8'"),
    "with a plugin without a status": (
        with_plugin(f"echo '{json.dumps({**CREDENTIAL, 'status': None})}'"),
        "the credential plugin failed: ",
    ),
    "with a plugin of another version": (
        with_plugin(f"echo '{json.dumps({**CREDENTIAL, 'apiVersion': 'v9'})}'"),
        "plugin api version v9 does not match",
    ),
    "with a server without a scheme": (json.dumps(played_api.kubeconfig("lab:1")), "write https://lab:1"),
    "with a certificate that is none": (
        json.dumps(played_api.kubeconfig("https://127.0.0.1:1", **{"client-certificate-data": "abc"})),
        "it is not a valid kubeconfig",
    ),
}


@pytest.mark.parametrize("command", ["status", "submit"])
@pytest.mark.parametrize("kind", KUBECONFIGS)
def test_a_kubeconfig_that_is_none_is_named(command: str, kind: str, folder: Path, said: Said) -> None:
    content, sentence = KUBECONFIGS[kind]
    file = folder / "odd"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main([*COMMANDS[command], "--kubeconfig", str(file)]) == ExitCode.USER
    out, err = said()
    assert out == ""
    assert f"error: cannot connect to a cluster: kubeconfig {file}: " in one_sentence(err)
    assert sentence in err


def test_a_context_can_be_named_where_none_is_current(folder: Path, server: ApiServer, said: Said) -> None:
    content = played_api.kubeconfig(server.url)
    del content["current-context"]
    file = played_api.written(folder, content)
    assert main(["top", "--once", "--kubeconfig", file, "--context", CONTEXT]) == ExitCode.DONE
    assert main(["top", "--once", "--kubeconfig", file, "--context", "other"]) == ExitCode.USER
    assert "other" in one_sentence(said()[1])


def test_a_pod_without_its_account_is_one_sentence(monkeypatch: pytest.MonkeyPatch, said: Said) -> None:
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    assert main(["top", "--once"]) == ExitCode.USER
    assert "the service account of this pod" in one_sentence(said()[1])


def test_a_kubeconfig_of_an_unknown_user_is_named(monkeypatch: pytest.MonkeyPatch, said: Said) -> None:
    monkeypatch.setenv("KUBECONFIG", "~no-such-user/config")
    assert main(["top", "--once"]) == ExitCode.USER
    assert "kubeconfig ~no-such-user/config: the file does not exist" in one_sentence(said()[1])


def test_an_odd_namespace_of_the_context_does_not_matter_beside_a_named_one(
    folder: Path, server: ApiServer, said: Said
) -> None:
    content = played_api.kubeconfig(server.url)
    content["contexts"][0]["context"]["namespace"] = ".."
    file = played_api.written(folder, content)
    assert main(["top", "--once", "--kubeconfig", file, "-n", "lab"]) == ExitCode.DONE
    assert main(["top", "--once", "--kubeconfig", file]) == ExitCode.USER
    assert "namespace" in one_sentence(said()[1])


@pytest.mark.parametrize("other", ["missing", "empty"])
def test_of_several_files_those_without_content_are_left_out(
    other: str, folder: Path, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "empty").touch()
    own = played_api.written(folder, played_api.kubeconfig(server.url))
    for files in (f"{own}:{folder}/{other}", f"{folder}/{other}:{own}", f":{folder}/{other}:{own}:"):
        monkeypatch.setenv("KUBECONFIG", files)
        assert main(["top", "--once"]) == ExitCode.DONE


@pytest.mark.parametrize("first", [False, True])
def test_of_several_files_a_folder_is_named(
    first: bool, folder: Path, server: ApiServer, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = played_api.written(folder, played_api.kubeconfig(server.url))
    monkeypatch.setenv("KUBECONFIG", f"{folder}:{own}" if first else f"{own}:{folder}")
    assert main(["top", "--once"]) == ExitCode.USER
    assert f"{folder}: Is a directory" in one_sentence(said()[1])
