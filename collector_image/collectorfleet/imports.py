"""Turn the garbage collector off during imports that take seconds, in processes of this project.

The imports of torch and TorchRL create 680,000 objects, none of which is garbage. Python would scan these objects again
and again, which takes a sixth of the import time. This module does not import torch or TorchRL.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Turn garbage collection off inside the ``with`` block, and freeze the objects that exist at its end.

    Later collections do not scan frozen objects. If collection was already off before the block, collection stays off.
    """
    were_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # Without the freeze, each later full collection would scan all these objects.
        gc.freeze()
        # Leak checkers report objects that are still frozen when the interpreter ends.
        atexit.register(gc.unfreeze)
        if were_on:
            gc.enable()
