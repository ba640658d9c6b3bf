"""Checks of `spec.networkPolicy` that Kubernetes would make only after the fleet is created."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.sentences import did_you_mean
from collectorfleet_api.v1alpha1.network_policy import NetworkPolicy

_PEER: Final = ("podSelector", "namespaceSelector", "ipBlock")


def network_problems(policy: NetworkPolicy | None) -> Iterator[Problem]:
    """Yield a problem for each unknown key of a peer or a rule. A misspelt key would allow all traffic."""
    if policy is None:
        return
    yield from _peers(policy.metrics_from, "spec.networkPolicy.metricsFrom")
    for direction, rules, peers in (("ingress", policy.ingress, "from"), ("egress", policy.egress or [], "to")):
        for index, rule in enumerate(rules):
            path = f"spec.networkPolicy.{direction}[{index}]"
            yield from _unknown(rule, (peers, "ports"), path)
            asked = rule.get(peers)
            yield from _peers([] if asked is None else asked, f"{path}.{peers}")


def _peers(peers: Any, path: str) -> Iterator[Problem]:
    if not isinstance(peers, list):
        yield Problem(path, "a list of peers is expected; put '- ' before each")
        return
    for index, peer in enumerate(peers):
        here = f"{path}[{index}]"
        if not isinstance(peer, dict) or not peer:
            yield Problem(here, f"selects no peer; set one of {', '.join(_PEER)}")
        else:
            yield from _unknown(peer, _PEER, here)


def _unknown(found: dict[str, Any], known: tuple[str, ...], path: str) -> Iterator[Problem]:
    for key in found.keys() - set(known):
        yield Problem(f"{path}.{key}", f"unknown field{did_you_mean(key, known)}")
