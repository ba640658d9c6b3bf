"""The boundary around every command. It turns an exception into one line on stderr and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.extras import NotInstalled
from collectorfleet.display.plain import plain
from collectorfleet.errors import (
    AccessDenied,
    ClusterUnavailable,
    CollectorFleetError,
    FleetRejected,
    InvalidKubeconfig,
    InvalidOption,
    UserCodeError,
    describe,
    one_sentence,
)

# The first class that matches an error decides the exit code.
_CODES: Final[Sequence[tuple[type[Exception], ExitCode]]] = (
    (InvalidOption, ExitCode.USER),
    (UserCodeError, ExitCode.USER),
    (InvalidKubeconfig, ExitCode.USER),
    (FleetRejected, ExitCode.USER),
    (AccessDenied, ExitCode.DENIED),
    (ClusterUnavailable, ExitCode.UNAVAILABLE),
    (NotInstalled, ExitCode.UNAVAILABLE),
    (CollectorFleetError, ExitCode.FAILED),
    # Raised for a file that the user names on the command line.
    (FileNotFoundError, ExitCode.USER),
    (FileExistsError, ExitCode.USER),
    (PermissionError, ExitCode.USER),
    (IsADirectoryError, ExitCode.USER),
    (NotADirectoryError, ExitCode.USER),
)
# Errors like the FileNotFoundError above. Python has no classes for them.
_OF_A_FILE_NAME: Final = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.EROFS})


def exit_code_of(work: Callable[[], int], *, debug: bool, is_driver: bool = False) -> int:
    """Run ``work`` and return its exit code. Print an exception on stderr instead of raising it.

    If ``debug`` is True, also print the traceback. If ``is_driver`` is True, print the traceback of any error except
    NotInstalled, because the user cannot start a driver again with ``--debug``. This function does not catch
    SystemExit, which argparse raises.
    """
    try:
        try:
            code = work()
        finally:
            _flush()
    except BrokenPipeError:
        # The reader closed the pipe because it needs no more output, as `| head -1` does.
        code = ExitCode.DONE
    except KeyboardInterrupt:
        _print("interrupted", with_traceback=debug or is_driver)
        code = ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001  (an unexpected error is printed as one line, too)
        # The traceback of NotInstalled shows only the check of the packages.
        with_traceback = debug or (is_driver and not isinstance(error, NotInstalled))
        _print(f"error: {_sentence(error)}", with_traceback=with_traceback)
        code = _code(error)
    return code


def _code(error: Exception) -> ExitCode:
    if isinstance(error, OSError) and error.errno in _OF_A_FILE_NAME:
        return ExitCode.USER
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.FAILED)


def _sentence(error: Exception) -> str:
    if isinstance(error, CollectorFleetError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    return f"unexpected {describe(error)}; run the command with --debug to see the traceback"


def _print(text: str, *, with_traceback: bool) -> None:
    # The write fails if the terminal is closed or the pipe has no reader.
    with suppress(OSError, ValueError):
        if with_traceback:
            traceback.print_exc()
        if sys.stderr is not None:
            print(plain(one_sentence(text)), file=sys.stderr, flush=True)


def _flush() -> None:
    """Flush stdout before the exit code is decided. Otherwise a flush that fails at exit would print a traceback.

    Raises OSError if the flush fails. The output that is still buffered is then discarded.
    """
    if sys.stdout is None:  # closed by the caller
        return
    try:
        sys.stdout.flush()
    except OSError:
        # Python flushes stdout again at exit. That flush succeeds, because stdout now writes to /dev/null.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
