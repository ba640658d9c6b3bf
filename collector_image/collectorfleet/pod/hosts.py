"""Accept the connections of collector pods, in a fleet without Ray.

The collector pods connect to the driver pod through the headless Service of the driver's Job.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from collectorfleet.errors import InfrastructureError
from collectorfleet.pod.settings import DriverSettings
from collectorfleet_api import names
from collectorfleet_api.packing.pods import pack_groups
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.v1alpha1 import CollectorFleet

if TYPE_CHECKING:
    from collectorfleet.transport.distributed.remote_hosts import CollectorHosts

_TOKEN: Final = Path(names.HOSTS_TOKEN_MOUNT) / names.HOSTS_TOKEN_KEY


def hosts_of(
    fleet: CollectorFleet, settings: DriverSettings, gpus_per_collector: float, token: Path = _TOKEN
) -> CollectorHosts:
    """Return the object that accepts the fleet's collector pods at this pod's address.

    ``gpus_per_collector`` is a number of GPUs, or a share of one GPU. ``token`` is the file of the shared secret.
    Kubernetes creates the file before it starts the pod. Raises ValueError if a collector of this spec fits into no
    pod. Raises InvalidOption if the address or the token cannot be used, and InfrastructureError if the token's
    file cannot be read.
    """
    from collectorfleet.transport.distributed.remote_hosts import CollectorHosts

    groups = pack_groups(fleet.spec.worker_groups)
    if isinstance(groups, Refusal):
        raise ValueError(f"{groups.field}: {groups.message}")
    try:
        secret = token.read_bytes().strip()
    except OSError as error:
        raise InfrastructureError.of("the token of the collectors' hosts", error) from error
    return CollectorHosts(
        settings.pod_ip,
        names.HOSTS_PORT,
        secret,
        collectors_per_host=groups[names.WORKER_GROUP].per_pod,
        gpus_per_collector=gpus_per_collector,
    )
