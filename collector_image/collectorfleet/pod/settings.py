"""Read the settings of a driver pod from the environment variables that the operator sets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from collectorfleet_api import names

TERMINATION_LOG: Final = Path("/dev/termination-log")
# The default of Kubernetes. It applies to pods of an earlier operator, which did not set the variable.
DEFAULT_GRACE_SECONDS: Final = 30.0


class InvalidSettings(Exception):
    """The environment lacks a variable that the operator sets, or a value cannot be used."""


@dataclass(frozen=True)
class DriverSettings:
    """The settings of a driver pod: its fleet, the spec, and addresses.

    A driver with Ray has ``ray_address``. A driver without Ray has ``pod_ip``.
    """

    namespace: str
    name: str
    uid: str
    pod: str
    spec: dict[str, Any]  # the spec at the driver's start; the stored spec may differ by now
    ray_address: str = ""  # host:port of the head's GCS
    pod_ip: str = ""  # the address that hosts of collectors connect to
    checkpoints: Path | None = None  # the mount of the volume in `driver.checkpoint`
    grace_seconds: float = DEFAULT_GRACE_SECONDS  # from SIGTERM until the kubelet kills the pod

    @property
    def fleet(self) -> str:
        """The name of the fleet in messages."""
        return f"fleet {self.namespace}/{self.name}"

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> DriverSettings:
        """Return the settings in ``env``. Reads the spec from its file.

        Raises InvalidSettings with the names of all missing variables, or with the value that cannot be used.
        """
        variables = {
            "namespace": names.ENV_NAMESPACE,
            "name": names.ENV_NAME,
            "uid": names.ENV_UID,
            "pod": names.ENV_POD,
            "spec": names.ENV_SPEC,
        }
        launcher = {"ray_address": names.ENV_RAY_ADDRESS, "pod_ip": names.ENV_POD_IP}
        # The operator sets one of two variables: the first for a driver with Ray, the second for a driver without Ray.
        variables |= {field: one for field, one in launcher.items() if env.get(one)} or {
            "ray_address": names.ENV_RAY_ADDRESS
        }
        missing = [variable for variable in variables.values() if not env.get(variable)]
        if missing:
            raise InvalidSettings(
                f"{', '.join(missing)} not set. `collectorfleet drive` runs only in pods that the operator creates; to "
                "run a fleet on this machine, use `collectorfleet run FILE`"
            )
        mounted = env.get(names.ENV_CHECKPOINTS)
        found: dict[str, Any] = {field: env[variable] for field, variable in variables.items()}
        return cls(
            **found | {"spec": _spec_in(Path(found["spec"]))},
            checkpoints=Path(mounted) if mounted else None,
            grace_seconds=_grace_seconds(env.get(names.ENV_GRACE_SECONDS)),
        )


def _spec_in(path: Path) -> dict[str, Any]:
    where = f"{names.ENV_SPEC}: {path}"
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise InvalidSettings(f"{where} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidSettings(f"{where} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidSettings(f"{where} is not a JSON object")
    return found


def _grace_seconds(text: str | None) -> float:
    try:
        return float(text or DEFAULT_GRACE_SECONDS)
    except ValueError:
        raise InvalidSettings(f"{names.ENV_GRACE_SECONDS}: {text!r} is not a number of seconds") from None
