"""The address and the credentials of the API server, from the pod's service account or from a kubeconfig."""

from __future__ import annotations

import os

from kubernetes.aio import client, config
from kubernetes.aio.config import kube_config

from collectorfleet_operator.edge.errors import NotConfiguredError


def in_cluster() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ


async def load() -> client.Configuration:
    """Return the configuration of the pod's service account, or outside of a cluster that of KUBECONFIG.

    Raises NotConfiguredError.
    """
    found = client.Configuration()
    try:
        if in_cluster():
            config.load_incluster_config(client_configuration=found)
        else:
            _check_exists(kube_config.KUBE_CONFIG_DEFAULT_LOCATION)
            await config.load_kube_config(client_configuration=found)
    except Exception as error:  # any class: the library does not validate the file
        raise NotConfiguredError(f"cannot connect to a cluster: {_why(error)}; {_remedy()}") from error
    return found


def _check_exists(files: str) -> None:
    """Raise ConfigException if none of the files exists. The library would raise a TypeError."""
    if not any(os.path.exists(os.path.expanduser(file)) for file in files.split(os.pathsep)):
        raise config.ConfigException(f"{files} does not exist")


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, config.ConfigException):
        # The library's message repeats an entry of the file in braces. The entry may have secrets.
        return " ".join(str(error).partition("{")[0].split()).rstrip(" ./")
    return f"it is not a valid kubeconfig ({type(error).__name__})"


def _remedy() -> str:
    # A pod does not read KUBECONFIG.
    if in_cluster():
        return "mount the token of a service account into the pod (automountServiceAccountToken)"
    return "set KUBECONFIG to a valid kubeconfig, or run the operator in a pod with a service account"
