"""Imports that take seconds, in processes that are ours: nobody looks for garbage meanwhile.

torch and TorchRL make 680,000 objects, none of which is garbage. Python goes through the existing objects again and
again, which takes a sixth of the time of the import. Nothing here imports torch or TorchRL.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Iterator[None]:
    """No thread collects garbage meanwhile, and no later collection goes through what is there by then.

    Where the program has turned collections off they stay off.
    """
    were_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # The next collections would go through all of it, the complete ones again and again.
        gc.freeze()
        # What is left when the interpreter ends is told as leaked by those who count it.
        atexit.register(gc.unfreeze)
        if were_on:
            gc.enable()
