"""Make a subclass of the user's class. An actor of the subclass resumes from its checkpoint after a restart by Ray.

The subclass also counts the learning steps. Ray restarts a dead actor in the same place, behind the same handle, and
with the same arguments. So the constructor loads the checkpoint.
"""

from __future__ import annotations

import asyncio
import errno
import inspect
import logging
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from pathlib import Path
from typing import Any, Final

import torch

from collectorfleet.durable_files import name_path, write
from collectorfleet.learners.dropped import add_dropped, dropped, end_dropped

log = logging.getLogger(__name__)

# Attributes of the actor that do not collide with the user's attributes.
_STEPS: Final = "_collectorfleet_steps"
# The number of the actor's last checkpoint, or of its last try to write one.
_NUMBER: Final = "_collectorfleet_number"


def returning(of: type) -> type:
    """Return a subclass of ``of`` for Ray.

    The subclass's constructor has these arguments: files, the actor's share of a GPU, whether the actor has to resume,
    and the keywords of ``of``. The actor resumes from the first existing file. If the actor has to resume and no file
    exists, the constructor raises FileNotFoundError.
    """

    class Returning(of):  # type: ignore[misc]
        def __init__(
            self, files: Sequence[Path], gpu: float, keywords: Mapping[str, Any], resumes: bool = False
        ) -> None:
            if 0 < gpu < 1 and torch.cuda.is_available():
                torch.cuda.set_per_process_memory_fraction(gpu)
            super().__init__(**keywords)
            self.__dict__[_STEPS] = number = 0
            removed = dropped(files[0]) if files else {}
            kept_in = next((file for file in files if file.exists()), None)
            if resumes and kept_in is None:
                # Without this error, the user would mistake a policy with initial weights for the resumed policy.
                missing = (
                    "the checkpoint to resume from is missing; restore the checkpoint, or remove its folder to start "
                    "over"
                )
                raise FileNotFoundError(errno.ENOENT, missing, str(files[-1]))
            if kept_in is not None:
                # The state has objects of the user's classes, so a manipulated file can run code here. A manipulated
                # image can run code here, too.
                kept = torch.load(kept_in, map_location="cpu", weights_only=False)
                self.load_state_dict(kept["state"])
                self.__dict__[_STEPS] = kept["steps"]
                number = kept.get("number", 0)  # the previous release wrote no number
                for policy_id in [policy_id for policy_id, last in removed.items() if number <= last]:
                    _forget(self, policy_id)
                log.info("%s resumes from %s", of.__qualname__, kept_in)
            # The next checkpoint has a later number than a try that failed before the restart.
            self.__dict__[_NUMBER] = max([number, *removed.values()])

        def __bool__(self) -> bool:
            # If a constructor raises, Ray evaluates the object's truth value. A __len__ of the user's class could then
            # raise, too, and hide the first error.
            return True

    own: Any = getattr(of, "learn", None)
    # A coroutine returns before it has learned, so its steps are not counted.
    if own is not None and not inspect.iscoroutinefunction(own):

        @wraps(own)
        def learn(self: Any, *args: Any, **keywords: Any) -> Any:
            found = own(self, *args, **keywords)
            self.__dict__[_STEPS] += 1
            return found

        Returning.learn = learn
    Returning.__name__, Returning.__qualname__ = of.__name__, of.__qualname__
    return Returning


def keep(actor: Any, file: Path, without: Collection[str] = ()) -> None:
    """Write the actor's state to ``file``, in the actor's process and without a second copy. Raises OSError.

    A replay actor first drops the frames of the policies in ``without``. The actor may have been restarted since the
    last drop, from a file that still has these frames.
    """
    for policy_id in without:
        # A coroutine cannot be awaited here. A separate call has already dropped the frames.
        if not inspect.iscoroutinefunction(actor.forget):
            actor.forget(policy_id)
    # A failed write may have replaced the file, too, so the number grows before the write.
    actor.__dict__[_NUMBER] += 1
    state = {"state": actor.state_dict(), "steps": steps_of(actor), "number": actor.__dict__[_NUMBER]}
    try:
        write(file, partial(torch.save, state))
    except RuntimeError as error:
        # If the volume is full, torch raises a RuntimeError that hides the OSError.
        if isinstance(error.__context__, OSError):
            name_path(error.__context__, file)
            raise error.__context__ from None
        raise
    end_dropped(file)


def note_dropped(actor: Any, file: Path, policy_id: str) -> None:
    """Record that a restarted actor drops the frames of a removed policy, unless a later checkpoint is in ``file``.

    Call this in the actor's process. An unfinished checkpoint may otherwise write the frames later. Raises OSError.
    """
    add_dropped(file, policy_id, actor.__dict__[_NUMBER])


def _forget(actor: Any, policy_id: str) -> None:
    """Drop frames in the constructor, in which nothing else runs."""
    if inspect.iscoroutinefunction(actor.forget):
        # The thread of an asynchronous actor has a running event loop, which blocks until the constructor returns.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, actor.forget(policy_id)).result()
    else:
        actor.forget(policy_id)


def steps_of(actor: Any) -> int:
    """Return the number of learning steps, or 0 if ``learn`` is missing or asynchronous."""
    steps: int = actor.__dict__[_STEPS]
    return steps


def drained(_: Any) -> None:
    """Do nothing. The call returns once the actor has finished its earlier calls."""
