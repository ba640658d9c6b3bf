"""The actor that a class of the user's becomes: where it is built anew, it goes on from the file it was kept in.

Ray itself builds a dead actor anew, in the same place and behind the same handle, and with the same arguments; so the
way back to what was learned is the constructor.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from collectorfleet.durable_files import write_bytes

log = logging.getLogger(__name__)


def returning(of: type) -> type:
    """A subclass of ``of`` for Ray, built with a file or None, its share of a GPU, and the keywords of ``of``."""

    class Returning(of):  # type: ignore[misc]
        def __init__(self, kept_in: Path | None, gpu: float, keywords: Mapping[str, Any]) -> None:
            if 0 < gpu < 1 and torch.cuda.is_available():
                torch.cuda.set_per_process_memory_fraction(gpu)
            super().__init__(**keywords)
            if kept_in is not None and kept_in.exists():
                # With the user's own classes; whoever can write there can run code here, as with the image.
                self.load_state_dict(torch.load(kept_in, map_location="cpu", weights_only=False))
                log.info("%s goes on from %s", of.__qualname__, kept_in)

        def __bool__(self) -> bool:
            # Where a constructor raises Ray asks whether the object is true: a __len__ of the user's class would raise
            # as well, and hide why.
            return True

    Returning.__name__, Returning.__qualname__ = of.__name__, of.__qualname__
    return Returning


def keep(actor: Any, file: Path) -> None:
    """Write what the actor is now; it is called in the actor's process."""
    out = io.BytesIO()
    torch.save(actor.state_dict(), out)
    write_bytes(file, out.getbuffer())


def drained(_: Any) -> None:
    """Called in the actor's process once it has done what it was asked for before."""
