"""The exit codes of all commands. docs/cli.md has the same table. A test compares the two."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from collectorfleet_api import names


class ExitCode(IntEnum):
    """The exit code of a command."""

    DONE = 0
    FAILED = names.EXIT_INFRASTRUCTURE
    USAGE = 2
    USER = names.EXIT_USER_ERROR
    STOPPED = names.EXIT_STOPPED
    UNAVAILABLE = 69
    DENIED = 77
    INTERRUPTED = names.EXIT_INTERRUPTED
    TERMINATED = names.EXIT_SIGTERM


MEANINGS: Final[Mapping[ExitCode, str]] = {
    ExitCode.DONE: "The command succeeded, or the reader of its output closed the pipe",
    ExitCode.FAILED: "The command failed for another reason than those below",
    ExitCode.USAGE: "The command line is wrong",
    ExitCode.USER: "A file (code, manifest, token, kubeconfig), its name, or a namespace is wrong",
    ExitCode.STOPPED: "The operator asked the driver to stop (`drive` only)",
    ExitCode.UNAVAILABLE: "No API server with the CRD of CollectorFleets was found, or a package is not installed",
    ExitCode.DENIED: "The API server does not accept your credentials, or you lack a right",
    ExitCode.INTERRUPTED: "Ctrl-C interrupted the command",
    ExitCode.TERMINATED: "SIGTERM ended the command",
}
