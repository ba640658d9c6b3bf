"""The way to a cluster that kubectl would take, and the namespace that it would look in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException

from collectorfleet.client.errors import ClusterError

_NAMESPACE_OF_A_POD: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_DEFAULT: Final = "default"


@dataclass(frozen=True)
class Connection:
    """One cluster, and the namespace that is looked in where none is named."""

    api: client.ApiClient
    namespace: str


def connect(namespace: str | None = None, *, context: str | None = None, kubeconfig: str | None = None) -> Connection:
    """Connect as kubectl does: by ``kubeconfig`` or ``KUBECONFIG``; within a pod without either, as its account.

    Args:
        namespace: looked in from now on. None: that of the context, or of the pod.
        context: of the kubeconfig. None: its current one.
        kubeconfig: path of a file. None: ``KUBECONFIG``, or ``~/.kube/config``.

    Raises:
        ClusterError: there is no such file or context.
    """
    configuration = client.Configuration()
    named = kubeconfig or context or os.environ.get("KUBECONFIG")
    if not named and "KUBERNETES_SERVICE_HOST" in os.environ:
        config.load_incluster_config(client_configuration=configuration)
        found = _NAMESPACE_OF_A_POD.read_text().strip() if _NAMESPACE_OF_A_POD.exists() else _DEFAULT
        return Connection(client.ApiClient(configuration), namespace or found)
    try:
        config.load_kube_config(kubeconfig, context, client_configuration=configuration)
        contexts, current = config.list_kube_config_contexts(kubeconfig)
    except (ConfigException, OSError) as error:
        raise ClusterError(f"no way to a cluster: {error}; set KUBECONFIG, or name a file that is there") from error
    chosen = next((one for one in contexts if one["name"] == context), current)
    return Connection(client.ApiClient(configuration), namespace or chosen["context"].get("namespace") or _DEFAULT)
