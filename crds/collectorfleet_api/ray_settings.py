"""Settings of Ray itself, the same on Kubernetes and on one machine."""

from __future__ import annotations

from typing import Final

# How often a node frees the memory of unused objects in its object store. With Ray's default of one second, a fleet
# that makes 1 GB/s goes through 1 GB of memory. Storing a batch of 54 MB then takes 25 ms, most of them for the kernel,
# which clears fresh pages. With a tenth of a second the same warm memory is used again: 7 ms.
SYSTEM_CONFIG: Final = {"free_objects_period_milliseconds": 100}


# For a process that starts a Ray for collectors: each worker imports the modules that every collector needs. As many
# workers as CPUs do so before a collector requests one.
PRESTART: Final = {"RAY_preload_python_modules": "collectorfleet.preload", "RAY_enable_worker_prestart": "1"}


def environment() -> dict[str, str]:
    """``SYSTEM_CONFIG`` as variables that a Ray which is started by this process reads."""
    return {f"RAY_{name}": str(value) for name, value in SYSTEM_CONFIG.items()}
