"""Settings of Ray itself, the same on Kubernetes and on one machine."""

from __future__ import annotations

from typing import Final

# How often a node takes the memory of objects that nobody uses back into its object store. With Ray's one second, a
# fleet that makes 1 GB/s works its way through 1 GB of memory, and storing a batch of 54 MB takes 25 ms, most of them
# the kernel's, that clears fresh pages; with a tenth of a second the same warm memory is used again: 7 ms.
SYSTEM_CONFIG: Final = {"free_objects_period_milliseconds": 100}


# Of who starts a Ray for collectors: each worker imports what every collector needs, and as many workers as there are
# CPUs do so before a collector asks for one.
PRESTART: Final = {"RAY_preload_python_modules": "collectorfleet.preload", "RAY_enable_worker_prestart": "1"}


def environment() -> dict[str, str]:
    """``SYSTEM_CONFIG`` as variables that a Ray which is started by this process reads."""
    return {f"RAY_{name}": str(value) for name, value in SYSTEM_CONFIG.items()}
