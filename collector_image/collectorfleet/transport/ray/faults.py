"""Derive the kind and the cause of a collector's loss from Ray's errors. The cause is one sentence. Pure."""

from __future__ import annotations

import re

import ray

from collectorfleet.errors import describe
from collectorfleet.messages import Fault

# Ray's messages if its own memory monitor killed the process. After any SIGKILL, Ray names memory as a possible cause.
_MEMORY = re.compile(r"running low on memory|memory monitor", re.IGNORECASE)
_NODE = re.compile(
    r"node (?:has )?died|node was terminated|its node has died|node failure|raylet (?:died|crashed|process died)|"
    # The limits bound the time of the search in a long line.
    r"node .{0,200} (?:is|was) (?:dead|marked dead|lost)|owner.{0,200} node",
    re.IGNORECASE,
)


def fault_of(error: BaseException) -> Fault:
    """Return the kind of loss. If Ray names no reason, the kind is ``DIED``."""
    if isinstance(error, ray.exceptions.OutOfMemoryError | MemoryError):
        return Fault.OUT_OF_MEMORY
    if isinstance(error, ray.exceptions.NodeDiedError):
        return Fault.NODE_LOST
    text = str(error)
    if _MEMORY.search(text):
        return Fault.OUT_OF_MEMORY
    return Fault.NODE_LOST if _NODE.search(text) else Fault.DIED


def cause_of(error: BaseException) -> str:
    """Return the cause from Ray's long error text, as one sentence."""
    text = str(error)
    because = re.search(r"(?:The actor is dead because|Worker exit detail:) (.+?)(?:\n|$)", text)
    if because:
        return because[1].strip()
    if isinstance(error, ray.exceptions.RayTaskError) and error.cause is not None:
        return describe(error.cause)
    return f"{type(error).__name__}: {text.strip().splitlines()[0] if text.strip() else 'no message'}"
