"""The optional NetworkPolicy of a fleet: by default, only the fleet's own pods can reach the fleet's ports.

A client that has Ray's token and reaches Ray's ports can run code in every pod. The ports of a process group need no
token. The policy has an effect only if the cluster's network plugin supports NetworkPolicies.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.objects import Kind, Object

NETWORK_POLICY: Final = Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
_REQUESTED: Final = f"{names.GROUP}/asked"
_DNS: Final = 53


def network_policy(fleet: CollectorFleet) -> Object | None:
    """Return the manifest of the NetworkPolicy, or None if the spec does not request one."""
    policy = fleet.spec.network_policy
    if policy is None:
        return None
    pods = {"matchLabels": {names.FLEET_LABEL: fleet.metadata.name}}
    each_other = [{"podSelector": pods}]
    ingress: list[Object] = [{"from": each_other}]
    if policy.metrics_from:
        # An empty `from` would allow all clients.
        ingress.append({"from": policy.metrics_from, "ports": [_port("TCP", names.METRICS_PORT)]})
    spec: Object = {"podSelector": pods, "policyTypes": ["Ingress"], "ingress": [*ingress, *policy.ingress]}
    if policy.egress is not None:
        dns = {"ports": [_port("UDP", _DNS), _port("TCP", _DNS)]}
        spec |= {"policyTypes": ["Ingress", "Egress"], "egress": [{"to": each_other}, dns, *policy.egress]}
    made = manifest(fleet, NETWORK_POLICY, names.network_policy_name(fleet.metadata.name), spec=spec)
    # A rule with fewer fields allows more. The comparison of manifests ignores removed fields, so only this hash shows
    # the change.
    made["metadata"]["annotations"] = {_REQUESTED: _hash(spec)}
    return made


def _port(protocol: str, port: int) -> Object:
    return {"protocol": protocol, "port": port}


def _hash(spec: Object) -> str:
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]
