"""Make a subclass of the user's class. An actor of the subclass resumes from its checkpoint after a restart by Ray.

The subclass also counts the learning steps. Ray restarts a dead actor in the same place, behind the same handle, and
with the same arguments. So the constructor loads the checkpoint.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from pathlib import Path
from typing import Any, Final

import torch

from collectorfleet.durable_files import name_path, write
from collectorfleet.learners.origin import Origin

log = logging.getLogger(__name__)

# An attribute of the actor that does not collide with the user's attributes.
_STEPS: Final = "_collectorfleet_steps"


def returning(of: type) -> type:
    """Return a subclass of ``of`` for Ray.

    The subclass's constructor has these arguments: what the actor resumes from, the actor's share of a GPU, and the
    keywords of ``of``. The constructor raises FileNotFoundError if a file of the checkpoint is missing.
    """

    class Returning(of):  # type: ignore[misc]
        def __init__(self, origin: Origin, gpu: float, keywords: Mapping[str, Any]) -> None:
            if 0 < gpu < 1 and torch.cuda.is_available():
                torch.cuda.set_per_process_memory_fraction(gpu)
            super().__init__(**keywords)
            self.__dict__[_STEPS] = 0
            saved = origin.load()
            if saved is not None:
                self.load_state_dict(saved.state)
                self.__dict__[_STEPS] = saved.steps
                for policy_id in saved.dropped:
                    _forget(self, policy_id)
                log.info("%s resumes from %s", of.__qualname__, saved.file)

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


def keep(actor: Any, file: Path) -> None:
    """Write the actor's state to ``file``, in the actor's process and without a second copy. Raises OSError."""
    state = {"state": actor.state_dict(), "steps": steps_of(actor)}
    try:
        write(file, partial(torch.save, state))
    except RuntimeError as error:
        # If the volume is full, torch raises a RuntimeError that hides the OSError.
        if isinstance(error.__context__, OSError):
            name_path(error.__context__, file)
            raise error.__context__ from None
        raise


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
