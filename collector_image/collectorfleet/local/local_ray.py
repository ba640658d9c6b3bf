"""A Ray of our own on this machine, with room for as many collectors as the fleet has."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from collectorfleet_api import ray_settings


def prepare_environment(import_path: list[Path]) -> None:
    """Environment of this process and of every Ray worker; before Ray is imported.

    ``import_path`` comes first where Python looks for modules.
    """
    folders = [str(path) for path in import_path]
    sys.path[:0] = folders
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *([inherited] if inherited else [])])
    # Workers import what they need while the driver does the same.
    os.environ.update(ray_settings.PRESTART | ray_settings.environment())
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # The coming default; without it Ray warns in each start.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


@contextmanager
def local_ray(cpus: int, resources: Mapping[str, float], temp_dir: Path, *, show_output: bool) -> Iterator[float]:
    """Start Ray with these CPUs and custom resources, yield the number of GPUs it found, and end it."""
    import ray

    try:
        ray.init(
            # Also where RAY_ADDRESS names a cluster.
            address="local",
            num_cpus=cpus,
            resources=dict(resources),
            include_dashboard=False,
            log_to_driver=show_output,
            logging_level=logging.ERROR,
            _temp_dir=str(temp_dir),
        )
        yield float(ray.cluster_resources().get("GPU", 0))
    finally:
        ray.shutdown()
