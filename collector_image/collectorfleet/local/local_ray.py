"""A Ray of our own on this machine, with as many collector slots as the fleet has collectors."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from collectorfleet_api import ray_settings
from collectorfleet_api.v1alpha1 import CollectorFleetSpec

# What every collector needs. Ray's workers import it while the driver does the same, before the collectors ask.
PRELOAD = "torch,torchrl.collectors"


def prepare_environment(import_path: list[Path]) -> None:
    """Environment of this process and of every Ray worker; before Ray is imported.

    ``import_path`` comes first where Python looks for modules.
    """
    folders = [str(path) for path in import_path]
    sys.path[:0] = folders
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *([inherited] if inherited else [])])
    os.environ["RAY_preload_python_modules"] = PRELOAD  # noqa: SIM112 (Ray's own spelling)
    os.environ["RAY_enable_worker_prestart"] = "1"  # noqa: SIM112 (Ray's own spelling)
    os.environ.update(ray_settings.environment())
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # The coming default; without it Ray warns in each start.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


@contextmanager
def local_ray(spec: CollectorFleetSpec, temp_dir: Path, *, show_output: bool) -> Iterator[float]:
    """Start Ray with a slot for each collector and each learner, yield the number of GPUs it found, and end it."""
    import ray

    from collectorfleet_api.names import COLLECTOR_RESOURCE, LEARNER_RESOURCE, group_resource
    from collectorfleet_api.packing.pods import Refusal

    slots, groups = spec.collectors.replicas, spec.collectors.group_sizes
    resources: dict[str, float] = {COLLECTOR_RESOURCE: slots}
    resources |= {group_resource(name): size for name, size in groups.items()}
    cpus = slots
    pods = spec.learners.pods if spec.learners else None
    if pods is not None and not isinstance(pods, Refusal):
        cpus += pods.pods * pods.ray_cpus
        resources[LEARNER_RESOURCE] = pods.pods * pods.actors
    try:
        ray.init(
            # Also where RAY_ADDRESS names a cluster.
            address="local",
            num_cpus=cpus,
            resources=resources,
            include_dashboard=False,
            log_to_driver=show_output,
            logging_level=logging.ERROR,
            _temp_dir=str(temp_dir),
        )
        yield float(ray.cluster_resources().get("GPU", 0))
    finally:
        ray.shutdown()
