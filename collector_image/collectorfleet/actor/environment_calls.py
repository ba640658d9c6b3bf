"""Detect calls that step, reset, seed or restore an environment."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from collectorfleet.torchrl_private.environments import CHANGE_STATE, PROCESS_CALL

# Methods that change the state of an environment. After such a call, the last observation is outdated.
_CHANGES_STATE: Final = {"step", "reset", "seed", "set_seed", "load_state_dict", *CHANGE_STATE}
# Calls that run a method in the processes of an environment. This process cannot detect whether the method changes the
# environment's state.
_REACHES_PROCESSES: Final = {
    (PROCESS_CALL, "__call__"),  # ParallelEnv of TorchRL
    ("AsyncVectorEnv", "call_async"),  # Gymnasium
}


class EnvironmentCalls:
    """The observed calls. ``changed_state`` is True as soon as a call has changed the state of an environment."""

    def __init__(self) -> None:
        self.changed_state = False

    def handle_profile_event(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or self.changed_state:
            return
        code = frame.f_code
        if not code.co_argcount:
            return
        name = code.co_name
        if name in _CHANGES_STATE:
            kind = type(frame.f_locals.get(code.co_varnames[0]))
            # Environments of all libraries have both ``step`` and ``reset``. Optimizers and collectors have only one of
            # the two methods.
            self.changed_state = hasattr(kind, "step") and hasattr(kind, "reset")
        elif name in ("__call__", "call_async"):
            kind = type(frame.f_locals.get(code.co_varnames[0]))
            self.changed_state = (kind.__name__, name) in _REACHES_PROCESSES


@contextmanager
def watch_environments() -> Iterator[EnvironmentCalls]:
    """Watch all calls that this thread makes inside the context, on any object.

    The context uses a profile function, because wrappers would miss some calls. A method of the environment may reset
    the environment below TorchRL's wrappers. Calls through existing references bypass a new wrapper.
    """
    calls, before = EnvironmentCalls(), sys.getprofile()
    sys.setprofile(calls.handle_profile_event)
    try:
        yield calls
    finally:
        sys.setprofile(before)
