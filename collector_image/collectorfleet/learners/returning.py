"""The actor that a class of the user's becomes: where it is built anew, it goes on from the file it was kept in.

It also counts how often it learned.

Ray itself builds a dead actor again, in the same place, behind the same handle, and with the same arguments. So the
constructor loads the checkpoint.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, Final

import torch

from collectorfleet.durable_files import write

log = logging.getLogger(__name__)

# Of the actor's own attributes; not one of the user's.
_STEPS: Final = "_collectorfleet_steps"


def returning(of: type) -> type:
    """A subclass of ``of`` for Ray, built with files, its share of a GPU, and the keywords of ``of``.

    It goes on from the first of the files that is there.
    """

    class Returning(of):  # type: ignore[misc]
        def __init__(self, files: Sequence[Path], gpu: float, keywords: Mapping[str, Any]) -> None:
            if 0 < gpu < 1 and torch.cuda.is_available():
                torch.cuda.set_per_process_memory_fraction(gpu)
            super().__init__(**keywords)
            self.__dict__[_STEPS] = 0
            kept_in = next((file for file in files if file.exists()), None)
            if kept_in is not None:
                # With the user's own classes; whoever can write there can run code here, as with the image.
                kept = torch.load(kept_in, map_location="cpu", weights_only=False)
                self.load_state_dict(kept["state"])
                self.__dict__[_STEPS] = kept["steps"]
                log.info("%s resumes from %s", of.__qualname__, kept_in)

        def __bool__(self) -> bool:
            # Where a constructor raises Ray asks whether the object is true: a __len__ of the user's class would raise
            # as well, and hide why.
            return True

    own: Any = getattr(of, "learn", None)
    # A coroutine would have learned later; nobody is told of its steps.
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
    """Write what the actor is now; it is called in the actor's process, and holds no second copy. Raises OSError."""
    state = {"state": actor.state_dict(), "steps": steps_of(actor)}
    try:
        write(file, partial(torch.save, state))
    except RuntimeError as error:
        # Of a full volume torch says where in its own file it is.
        if isinstance(error.__context__, OSError):
            raise error.__context__ from None
        raise


def steps_of(actor: Any) -> int:
    """How often it has learned; 0 for one that has no ``learn``, or an asynchronous one."""
    steps: int = actor.__dict__[_STEPS]
    return steps


def drained(_: Any) -> None:
    """Called in the actor's process once it has done what it was asked for before."""
