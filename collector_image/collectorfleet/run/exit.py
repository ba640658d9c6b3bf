"""Define how a run ended, and derive the exit code and the termination message. Pure."""

from __future__ import annotations

import sys
import traceback as traceback_module
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from collectorfleet.errors import CollectorFleetError, InvalidOption, UserCodeError, describe, one_sentence
from collectorfleet_api.names import EXIT_INFRASTRUCTURE, EXIT_USER_ERROR


class FleetGone(CollectorFleetError):
    """The driver's fleet was deleted, or another fleet has its name. A retry does not help."""


# The size of a termination message is limited to this number of bytes. Kubernetes keeps 4096 bytes.
TERMINATION_MESSAGE_BYTES: Final = 4000
# The packages whose frames in a traceback do not help a user to correct an option.
_OWN_CODE: Final = frozenset({"collectorfleet", "collectorfleet_api", *sys.stdlib_module_names})


@dataclass(frozen=True)
class Completed:
    """The training function returned, or the requested frames were written to the output."""

    message: str


@dataclass(frozen=True)
class UserError:
    """The user's code or manifest is wrong, or the fleet was deleted. A retry does not help."""

    message: str  # one sentence with the unchanged text of the first cause
    traceback: str = ""  # empty if no code of the user ran


@dataclass(frozen=True)
class Broken:
    """Any other failure, such as a lost cluster or a bug of this project. A retry may help."""

    message: str
    traceback: str = ""


@dataclass(frozen=True)
class Stopped:
    """The run was stopped by a request before its work was done."""

    message: str
    exit_code: int  # after a signal: 128 + the signal's number, as in shells


Exit = Completed | UserError | Broken | Stopped


def exit_of(error: BaseException) -> UserError | Broken:
    """Return how a run that raised ``error`` ended."""
    if isinstance(error, UserCodeError):
        return UserError(one_sentence(str(error)), error.traceback or _traceback(error))
    if isinstance(error, InvalidOption | FleetGone):
        return UserError(one_sentence(str(error)), _traceback(error) if _passed_other_code(error) else "")
    return Broken(one_sentence(describe(error)), _traceback(error))


def exit_code(ended: Exit) -> int:
    match ended:
        case Completed():
            return 0
        case UserError():
            return EXIT_USER_ERROR
        case Broken():
            return EXIT_INFRASTRUCTURE
        case Stopped(exit_code=code):
            return code


def termination_message(ended: Exit) -> str:
    """Return the sentence that the condition shows, a blank line, and the end of the traceback.

    If a process leaves no message, Kubernetes uses the end of the log. The blank line distinguishes a message from a
    log.
    """
    lines = [ended.message]
    if isinstance(ended, UserError | Broken) and ended.traceback:
        lines.append("")
        room = TERMINATION_MESSAGE_BYTES - len(ended.message.encode()) - 2
        lines.append(_last_bytes(ended.traceback.strip(), room))
    return "\n".join(lines)


def _last_bytes(text: str, size_bytes: int) -> str:
    return text.encode()[-size_bytes:].decode(errors="ignore")


def _passed_other_code(error: BaseException) -> bool:
    """Return whether ``error`` or a cause passed code outside this project and Python's library.

    Such code is the user's code, or a library that calls the user's code.
    """
    frames = (frame for one in _with_causes(error) for frame, _ in traceback_module.walk_tb(one.__traceback__))
    return not {frame.f_globals.get("__name__", "").partition(".")[0] for frame in frames} <= _OWN_CODE


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:  # the user's code may make a cycle
        yield found
        seen.add(id(found))
        found = found.__cause__


def _traceback(error: BaseException) -> str:
    return "".join(traceback_module.format_exception(error))
