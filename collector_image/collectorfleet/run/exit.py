"""How a run ended, as values: what the exit code, the termination message and the conditions are made from. Pure."""

from __future__ import annotations

import traceback as traceback_module
from dataclasses import dataclass
from typing import Final

from collectorfleet.errors import CollectorFleetError, InvalidOption, UserCodeError, describe, one_sentence
from collectorfleet_api.names import EXIT_INFRASTRUCTURE, EXIT_USER_ERROR


class FleetGone(CollectorFleetError):
    """The fleet that this driver was made for does not exist, or another has its name now: no use trying again."""


# Kubernetes keeps this much of a termination message.
TERMINATION_MESSAGE_BYTES: Final = 4000


@dataclass(frozen=True)
class Completed:
    """Training returned, or the frames asked for were written out."""

    message: str


@dataclass(frozen=True)
class UserError:
    """The user's code or manifest is wrong, or the fleet is gone; trying again would not help."""

    message: str  # one sentence, the first cause in its own words
    traceback: str = ""


@dataclass(frozen=True)
class Broken:
    """Something else broke: a lost cluster, a bug of ours. Trying again may help."""

    message: str
    traceback: str = ""


@dataclass(frozen=True)
class Stopped:
    """Somebody asked for the end before the work was done."""

    message: str
    exit_code: int  # 128 + the signal's number, as shells have it


Exit = Completed | UserError | Broken | Stopped


def exit_of(error: BaseException) -> UserError | Broken:
    """What an exception that left the run makes of it."""
    if isinstance(error, UserCodeError):
        return UserError(one_sentence(str(error)), error.traceback or _traceback(error))
    if isinstance(error, InvalidOption | FleetGone):
        return UserError(one_sentence(str(error)), _traceback(error))
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

    The blank line tells the message from the end of a log, which Kubernetes takes where a process leaves no message.
    """
    lines = [ended.message]
    if isinstance(ended, UserError | Broken) and ended.traceback:
        lines.append("")
        room = TERMINATION_MESSAGE_BYTES - len(ended.message.encode()) - 2
        lines.append(_last_bytes(ended.traceback.strip(), room))
    return "\n".join(lines)


def _last_bytes(text: str, size_bytes: int) -> str:
    return text.encode()[-size_bytes:].decode(errors="ignore")


def _traceback(error: BaseException) -> str:
    return "".join(traceback_module.format_exception(error))
