"""``collectorfleet collect`` where it ends before it looks for a driver."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main

WORDS = ["collect", "--driver", "127.0.0.1:1", "--rank", "0", "--token-file"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param(None, "No such file or directory", id="no file"),
        pytest.param("", "the file is empty; write the driver's token into it", id="empty"),
        pytest.param("\n", "the file is empty; write the driver's token into it", id="a line without a token"),
    ],
)
def test_a_token_file_without_a_token_is_said_at_once(
    content: str | None, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    assert main([*WORDS, str(file)]) == 64
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert str(file) in err
    assert err.endswith(f"{sentence}\n")


def test_a_folder_is_no_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, str(tmp_path)]) == 64
    assert capsys.readouterr().err == f"error: {tmp_path}: Is a directory\n"


@pytest.mark.parametrize("option", ["--token-file", "--driver-file"])
def test_a_pipe_is_refused_at_once(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe, token = tmp_path / "pipe", tmp_path / "token"
    os.mkfifo(pipe)
    token.write_text("secret")
    files = {"--token-file": token, "--driver-file": tmp_path / "none", option: pipe}
    assert main(["collect", "--rank", "0", *(str(word) for pair in files.items() for word in pair)]) == ExitCode.USER
    assert capsys.readouterr().err == f"error: {pipe} is a pipe, a socket or a device; name a regular file\n"


def test_which_host_it_is_has_to_be_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("JOB_COMPLETION_INDEX", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["collect", "--driver", "127.0.0.1:1", "--token-file", str(tmp_path)])
    assert ended.value.code == ExitCode.USAGE
    assert "--rank is missing; give the number of this host" in capsys.readouterr().err
