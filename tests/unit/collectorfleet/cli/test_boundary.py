"""What is raised inside of a command becomes a sentence and an exit code."""

from __future__ import annotations

import errno

import pytest
from tests.cluster.binaries import ROOT

from collectorfleet import errors
from collectorfleet.cli import cluster, parser
from collectorfleet.cli.boundary import exit_code_of
from collectorfleet.cli.exit_codes import MEANINGS, ExitCode
from collectorfleet.cli.extras import NotInstalled
from collectorfleet.cli.main import main
from collectorfleet_api.extras import Needs


def ended(error: BaseException, *, debug: bool = False, is_driver: bool = False) -> int:
    def work() -> int:
        raise error

    return exit_code_of(work, debug=debug, is_driver=is_driver)


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (errors.InvalidOption("--x: wrong"), ExitCode.USER, "error: --x: wrong"),
        (errors.UserCodeError("train", "ValueError: no"), ExitCode.USER, "error: train: ValueError: no"),
        (errors.InvalidKubeconfig("no file"), ExitCode.USER, "error: no file"),
        (errors.FleetRejected("no"), ExitCode.USER, "error: no"),
        (errors.ClusterUnavailable("no"), ExitCode.UNAVAILABLE, "error: no"),
        (errors.AccessDenied("no"), ExitCode.DENIED, "error: no"),
        (errors.FleetNotFound("no fleet"), ExitCode.FAILED, "error: no fleet"),
        (errors.TooFewCollectors("1 of 2"), ExitCode.FAILED, "error: 1 of 2"),
        (FileNotFoundError(errno.ENOENT, "No such file", "x"), ExitCode.USER, "error: x: No such file"),
        (OSError(errno.ENOSPC, "No space left"), ExitCode.FAILED, "error: No space left"),
        (OSError(errno.EROFS, "Read-only file system", "x"), ExitCode.USER, "error: x: Read-only file system"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "x"), ExitCode.USER, "error: x: File name too long"),
        (FileExistsError(errno.EEXIST, "File exists", "x"), ExitCode.USER, "error: x: File exists"),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, "interrupted"),
        (BrokenPipeError(), ExitCode.DONE, ""),
        (
            ZeroDivisionError("two\nlines \x1b[2J"),
            ExitCode.FAILED,
            "error: unexpected ZeroDivisionError: two lines \\x1b[2J; run the command with --debug",
        ),
        (RecursionError(), ExitCode.FAILED, "error: unexpected RecursionError; run the command with --debug"),
        (ExceptionGroup("several", [ValueError()]), ExitCode.FAILED, "error: unexpected ExceptionGroup: several"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_each_error_is_a_sentence_and_a_code(
    error: BaseException, code: ExitCode, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(error) == code
    err = capsys.readouterr().err
    assert err.startswith(sentence)
    assert len(err.splitlines()) == (1 if sentence else 0)


@pytest.mark.parametrize("who", [{"debug": True}, {"is_driver": True}], ids=["--debug", "driver"])
def test_the_traceback_of_an_error_can_be_shown(who: dict[str, bool], capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(ZeroDivisionError("x"), **who) == ExitCode.FAILED
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert err.splitlines()[-1].startswith("error: unexpected ZeroDivisionError: x")


def test_a_driver_shows_no_traceback_if_a_package_is_not_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(NotInstalled("torch is not installed"), is_driver=True) == ExitCode.UNAVAILABLE
    assert capsys.readouterr().err == "error: torch is not installed\n"


def test_debug_shows_the_traceback_if_a_package_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "CLUSTER", Needs("client", ("kubernetiz",)))
    assert main(["stop", "x", "--debug"]) == ExitCode.UNAVAILABLE
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert err.splitlines()[-1].startswith(
        "error: collectorfleet stop needs packages that are not installed (kubernetiz)"
    )


def test_every_command_shows_the_traceback_with_debug(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "x", "--kubeconfig", "/nowhere"]) == ExitCode.USER
    assert "Traceback" not in capsys.readouterr().err
    assert main(["status", "x", "--kubeconfig", "/nowhere", "--debug"]) == ExitCode.USER
    assert "Traceback" in capsys.readouterr().err


def test_usage_is_a_code_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["no-such-command"])
    assert ended.value.code == ExitCode.USAGE


@pytest.mark.parametrize("seconds", ["0", "-5", "1.5"])
def test_a_refused_time_names_the_option_of_the_command(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["logs", "x", f"--since={seconds}"])
    assert ended.value.code == ExitCode.USAGE
    assert f"--since: '{seconds}' is not a whole number of at least 1" in capsys.readouterr().err


def test_the_documentation_has_the_table_of_the_code() -> None:
    rows = [f"| {code.value} | {meaning} |" for code, meaning in MEANINGS.items()]
    page = (ROOT / "docs/cli.md").read_text()
    assert "\n".join(["| code | meaning |", "|---|---|", *rows, ""]) in page
    assert list(MEANINGS) == list(ExitCode)


def test_help_has_the_table_too() -> None:
    shown = parser.parser().format_help()
    for code, meaning in MEANINGS.items():
        assert f"{code.value} " in shown
        assert meaning in shown
