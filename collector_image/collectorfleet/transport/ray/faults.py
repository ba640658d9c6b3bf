"""What Ray's errors mean for a collector: which kind of loss it was, and its cause in one sentence. Pure."""

from __future__ import annotations

import re

import ray

from collectorfleet.errors import describe
from collectorfleet.messages import Fault

# What Ray says when its own monitor ended the process; of any SIGKILL it says that memory may have been the cause.
_MEMORY = re.compile(r"running low on memory|memory monitor", re.IGNORECASE)
_NODE = re.compile(
    r"node (?:has )?died|node was terminated|its node has died|node failure|raylet (?:died|crashed|process died)|"
    r"node .* (?:is|was) (?:dead|marked dead|lost)|owner.* node",
    re.IGNORECASE,
)


def fault_of(error: BaseException) -> Fault:
    """The kind of loss; a process that ended for no reason that Ray knows has died."""
    if isinstance(error, ray.exceptions.OutOfMemoryError | MemoryError):
        return Fault.OUT_OF_MEMORY
    if isinstance(error, ray.exceptions.NodeDiedError):
        return Fault.NODE_LOST
    text = str(error)
    if _MEMORY.search(text):
        return Fault.OUT_OF_MEMORY
    return Fault.NODE_LOST if _NODE.search(text) else Fault.DIED


def cause_of(error: BaseException) -> str:
    """Ray's errors are paragraphs; the sentence that says why is what a person needs."""
    text = str(error)
    because = re.search(r"(?:The actor is dead because|Worker exit detail:) (.+?)(?:\n|$)", text)
    if because:
        return because[1].strip()
    if isinstance(error, ray.exceptions.RayTaskError) and error.cause is not None:
        return describe(error.cause)
    return f"{type(error).__name__}: {text.strip().splitlines()[0] if text.strip() else 'no message'}"
