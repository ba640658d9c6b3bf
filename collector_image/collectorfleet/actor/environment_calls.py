"""Whether a call steps, resets, seeds or restores an environment."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from collectorfleet.torchrl_private.environments import CHANGE_STATE, PROCESS_CALL

# Methods after which an environment is no longer where the last observation was made.
_CHANGES_STATE: Final = {"step", "reset", "seed", "set_seed", "load_state_dict", *CHANGE_STATE}
# How a call reaches the processes of an environment, where nobody here sees what it does.
_REACHES_PROCESSES: Final = {
    (PROCESS_CALL, "__call__"),  # ParallelEnv of TorchRL
    ("AsyncVectorEnv", "call_async"),  # Gymnasium
}


class EnvironmentCalls:
    """``changed_state``: whether a call came so far that changes where an environment is."""

    def __init__(self) -> None:
        self.changed_state = False

    def saw(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or self.changed_state:
            return
        code = frame.f_code
        if not code.co_argcount:
            return
        name = code.co_name
        if name in _CHANGES_STATE:
            kind = type(frame.f_locals.get(code.co_varnames[0]))
            # An environment of any library has both; optimizers and collectors have one of them.
            self.changed_state = hasattr(kind, "step") and hasattr(kind, "reset")
        elif name in ("__call__", "call_async"):
            kind = type(frame.f_locals.get(code.co_varnames[0]))
            self.changed_state = (kind.__name__, name) in _REACHES_PROCESSES


@contextmanager
def watch_environments() -> Iterator[EnvironmentCalls]:
    """Watch the calls of this thread inside of the context, whatever object they go through.

    A method of the environment may reset it deep below TorchRL's wrappers, and a wrapper around each of them would
    miss those that others hold.
    """
    calls, before = EnvironmentCalls(), sys.getprofile()
    sys.setprofile(calls.saw)
    try:
        yield calls
    finally:
        sys.setprofile(before)
