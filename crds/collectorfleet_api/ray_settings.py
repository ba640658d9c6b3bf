"""Settings of Ray itself, the same on Kubernetes and on one machine."""

from __future__ import annotations

from typing import Final

# How often a node frees the memory of unused objects in its object store. With Ray's default of one second, a fleet
# that makes 1 GB/s fills 1 GB of fresh memory before Ray frees any. Storing a batch of 54 MB then takes 25 ms, mostly
# because the kernel clears fresh pages. With a tenth of a second, Ray reuses the same memory, and storing takes 7 ms.
SYSTEM_CONFIG: Final = {"free_objects_period_milliseconds": 100}


# Environment variables for processes that start Ray for collectors. With these variables, Ray starts a worker for each
# CPU in advance, and each worker imports the modules that every collector needs.
PRESTART: Final = {"RAY_preload_python_modules": "collectorfleet.preload", "RAY_enable_worker_prestart": "1"}


def environment() -> dict[str, str]:
    """Return ``SYSTEM_CONFIG`` as environment variables for a Ray that this process starts."""
    return {f"RAY_{name}": str(value) for name, value in SYSTEM_CONFIG.items()}
