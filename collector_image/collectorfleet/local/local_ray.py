"""Start Ray on this machine, with resources for all collectors of the fleet."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from collectorfleet_api import ray_settings


def prepare_environment(import_path: list[Path]) -> None:
    """Set the environment variables of this process and of all Ray workers. Call this before Ray is imported.

    The folders of ``import_path`` come first on the import path.
    """
    folders = [str(path) for path in import_path]
    sys.path[:0] = folders
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *([inherited] if inherited else [])])
    # Ray starts workers in advance, so that the workers' imports run in parallel with the driver's imports.
    os.environ.update(ray_settings.PRESTART | ray_settings.environment())
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # This is Ray's future default. Without the setting, Ray logs a warning at each start.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


@contextmanager
def local_ray(cpus: int, resources: Mapping[str, float], temp_dir: Path, *, show_output: bool) -> Iterator[float]:
    """Start Ray with these CPUs and custom resources, yield its number of GPUs, and end Ray after the block."""
    import ray

    try:
        ray.init(
            # Start a local Ray even if RAY_ADDRESS names a cluster.
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
