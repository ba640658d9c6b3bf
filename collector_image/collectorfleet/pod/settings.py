"""What the operator tells a driver pod, read once at its start."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from collectorfleet_api import names

TERMINATION_LOG: Final = Path("/dev/termination-log")
# Kubernetes' own, of a pod that an earlier operator made.
DEFAULT_GRACE_SECONDS: Final = 30.0


class MissingSetting(Exception):
    """The environment lacks a variable that the operator sets."""


@dataclass(frozen=True)
class DriverSettings:
    """Whose driver this is, and where its Ray cluster listens, or it itself."""

    namespace: str
    name: str
    uid: str
    pod: str
    spec: dict[str, Any]  # the fleet's as the driver was started with it, whatever is stored by now
    ray_address: str = ""  # host:port of the head's GCS
    pod_ip: str = ""  # where hosts of collectors come to, without Ray
    checkpoints: Path | None = None  # where `driver.checkpoint` is mounted
    grace_seconds: float = DEFAULT_GRACE_SECONDS  # from SIGTERM until the kubelet kills the pod

    @property
    def fleet(self) -> str:
        """The fleet as messages name it."""
        return f"fleet {self.namespace}/{self.name}"

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> DriverSettings:
        """Raises MissingSetting, naming every variable that is absent."""
        variables = {
            "namespace": names.ENV_NAMESPACE,
            "name": names.ENV_NAME,
            "uid": names.ENV_UID,
            "pod": names.ENV_POD,
            "spec": names.ENV_SPEC,
        }
        launcher = {"ray_address": names.ENV_RAY_ADDRESS, "pod_ip": names.ENV_POD_IP}
        # One of the two, by the launcher.
        variables |= {field: one for field, one in launcher.items() if env.get(one)} or {
            "ray_address": names.ENV_RAY_ADDRESS
        }
        missing = [variable for variable in variables.values() if not env.get(variable)]
        if missing:
            raise MissingSetting(
                f"{', '.join(missing)} not set; the operator runs `collectorfleet drive` in a pod; use "
                "`collectorfleet run FILE` to run a fleet on this machine"
            )
        mounted = env.get(names.ENV_CHECKPOINTS)
        found = {field: env[variable] for field, variable in variables.items()}
        return cls(
            **found | {"spec": json.loads(Path(found["spec"]).read_text())},
            checkpoints=Path(mounted) if mounted else None,
            grace_seconds=float(env.get(names.ENV_GRACE_SECONDS) or DEFAULT_GRACE_SECONDS),
        )
