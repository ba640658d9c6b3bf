"""The program as a process: signals, pipes, terminals and encodings."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.binaries import ROOT
from tests.manifests import manifest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.files import written
from tests.unit.collectorfleet.cli.played_api import NAME, ApiServer, Request
from tests.wait import eventually

from collectorfleet.cli.exit_codes import ExitCode

# As the script that pip installs.
PROGRAM = [sys.executable, "-c", "import sys; from collectorfleet.cli.main import main; sys.exit(main())"]


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with played_api.served() as made:
        yield made


@pytest.fixture
def env(server: ApiServer, tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT}/crds:{ROOT}/collector_image:{ROOT}/operator",
        "KUBECONFIG": played_api.written(tmp_path, played_api.kubeconfig(server.url)),
    }


def started(env: dict[str, str], *words: str, **options: Any) -> subprocess.Popen[str]:
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*PROGRAM, *words], env=env, **{**streams, **options})


def ended(env: dict[str, str], *words: str, **options: Any) -> tuple[int, str]:
    with started(env, *words, **options) as process:
        err = process.communicate(timeout=60)[1]
        return process.returncode, err


def blocking_module(folder: Path, name: str) -> Path:
    """A module in place of a library, which is imported forever; returns the file that says that it has begun."""
    begun = folder / f"{name}-begun"
    (folder / f"{name}.py").write_text(f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)\n")
    return begun


def hanging_log(request: Request) -> None:
    if "/log" not in request.path:
        return request.serve()
    request.send(200, b"started\n", "text/plain", Content_Length="4000")
    return played_api.hang(request)


def in_an_import(env: dict[str, str], folder: Path, server: ApiServer, name: str) -> Callable[[], bool]:
    env["PYTHONPATH"] = f"{folder}:{env['PYTHONPATH']}"
    return blocking_module(folder, name).exists


def in_a_request(env: dict[str, str], folder: Path, server: ApiServer, path: str) -> Callable[[], bool]:
    server.answer = hanging_log if path == "/log" else played_api.hang
    return lambda: any(path in one for one in server.requests)


def in_a_watch(env: dict[str, str], folder: Path, server: ApiServer, path: str) -> Callable[[], bool]:
    return server.watched_in_vain.is_set


MOMENTS: dict[str, tuple[list[str], Callable[..., Callable[[], bool]], str]] = {
    "the program imports its first library": (["--version"], in_an_import, "traceback"),
    "status imports pydantic": (["status", NAME], in_an_import, "pydantic"),
    "status imports its client": (["status", NAME], in_an_import, "kubernetes"),
    "status waits for an answer": (["status", NAME], in_a_request, "collectorfleets"),
    "top waits for an answer": (["top"], in_a_request, "collectorfleets"),
    "status -w waits for a change": (["status", "-w"], in_a_watch, "watch=true"),
    "logs -f waits for a line": (["logs", "-f", NAME], in_a_request, "/log"),
}


CTRL_C = (signal.SIGINT, ExitCode.INTERRUPTED, "interrupted\n")
TERMINATION = (signal.SIGTERM, ExitCode.TERMINATED, "terminated\n")


@pytest.mark.parametrize(
    ("moment", "number", "code", "said"),
    [
        *(pytest.param(moment, *CTRL_C, id=f"Ctrl-C, {moment}") for moment in MOMENTS),
        pytest.param("status imports pydantic", *TERMINATION, id="SIGTERM, status imports pydantic"),
        pytest.param("status waits for an answer", *TERMINATION, id="SIGTERM, status waits for an answer"),
    ],
)
def test_a_signal_ends_it_without_a_traceback(
    moment: str, number: int, code: ExitCode, said: str, env: dict[str, str], tmp_path: Path, server: ApiServer
) -> None:
    words, prepare, what = MOMENTS[moment]
    reached = prepare(env, tmp_path, server, what)
    with started(env, *words) as process:
        eventually(reached, within=60, every=0.02, what=moment)
        process.send_signal(number)
        err = process.communicate(timeout=60)[1]
    assert (process.returncode, err) == (code, said)


def test_ctrl_c_ends_a_command_that_reads_a_manifest(env: dict[str, str], tmp_path: Path) -> None:
    fifo = tmp_path / "fleet.yaml"
    os.mkfifo(fifo)
    # Opening it blocks until the command has opened it, too.
    with started(env, "validate", str(fifo)) as process, fifo.open("w"):
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=60)[1]
    assert (process.returncode, err) == (ExitCode.INTERRUPTED, "interrupted\n")


def test_a_signal_that_is_ignored_stays_ignored(env: dict[str, str], server: ApiServer) -> None:
    """As `nohup` and a shell's `&` have it."""

    def late(request: Request) -> None:
        server.released.wait(60)
        request.serve()

    server.answer = late
    ignore = [*PROGRAM[:2], f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {PROGRAM[2]}"]
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*ignore, "top", "--once"], env=env, **streams) as process:
        eventually(lambda: server.requests, within=60, every=0.02, what="a request")
        process.send_signal(signal.SIGINT)
        server.released.set()
        process.communicate(timeout=60)
    assert process.returncode == ExitCode.DONE


@pytest.mark.parametrize("words", [["status", NAME], ["--help"]], ids=" ".join)
def test_a_reader_that_went_away_is_no_error(words: list[str], env: dict[str, str]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        assert ended(env, *words, stdout=write) == (ExitCode.DONE, "")
    finally:
        os.close(write)


def test_output_that_cannot_be_written_is_one_sentence(env: dict[str, str]) -> None:
    with Path("/dev/full").open("w") as full:
        assert ended(env, "status", NAME, stdout=full) == (ExitCode.FAILED, "error: No space left on device\n")


def test_closed_streams_are_no_error(env: dict[str, str]) -> None:
    script = f"{sys.executable} -c {PROGRAM[2]!r}".replace("'", '"')
    done = subprocess.run(["sh", "-c", f"{script} status {NAME} >&- 2>&-"], env=env, check=False)
    assert done.returncode == ExitCode.DONE


def test_a_terminal_without_the_characters_shows_escapes(env: dict[str, str], tmp_path: Path) -> None:
    file = written(tmp_path, manifest())
    odd = str(tmp_path / "\u00e9.yaml")
    Path(file).rename(odd)
    assert ended({**env, "PYTHONIOENCODING": "ascii"}, "validate", odd) == (ExitCode.DONE, "")


def on_a_terminal(env: dict[str, str], *words: str, until: bytes) -> tuple[int, bytes]:
    """Everything that the command draws on a terminal of 40 columns until Ctrl-C, pressed after ``until``."""
    terminal, its_end = pty.openpty()
    env = {**env, "TERM": "xterm-256color", "COLUMNS": "40", "LINES": "24"}
    drawn = b""
    with started(env, *words, stdin=its_end, stdout=its_end, stderr=its_end, start_new_session=True) as process:
        os.close(its_end)
        try:
            while until not in drawn:
                drawn += os.read(terminal, 65536)
            process.send_signal(signal.SIGINT)
            while more := os.read(terminal, 65536):
                drawn += more
        except OSError:  # EIO: the command has ended
            pass
        finally:
            os.close(terminal)
    return process.returncode, drawn


def test_top_on_a_narrow_terminal_without_colors_is_redrawn_until_ctrl_c(env: dict[str, str]) -> None:
    code, drawn = on_a_terminal({**env, "NO_COLOR": "1"}, "top", NAME, until=b"frames/s")
    assert code == ExitCode.INTERRUPTED, drawn
    assert b"Traceback" not in drawn
    assert b"\x1b[3" not in drawn
    assert drawn.rindex(b"\x1b[?25h") > drawn.rindex(b"\x1b[?25l"), "the cursor is hidden"
    assert drawn.endswith(b"interrupted\r\n")
