"""Two clusters on one machine share neither a name nor an address."""

from __future__ import annotations

import itertools

from tests.cluster.machine import CLUSTERS
from tests.cluster.network import Network

NETWORKS = [Network(index) for index in range(CLUSTERS)]


def test_no_two_clusters_overlap() -> None:
    subnets = [subnet for network in NETWORKS for subnet in (network.nodes, network.pods)]
    assert not [pair for pair in itertools.combinations(subnets, 2) if pair[0].overlaps(pair[1])]
    assert len({network.cable for network in NETWORKS}) == CLUSTERS


def test_a_link_has_a_name_that_the_kernel_takes() -> None:
    assert max(len(network.cable) for network in NETWORKS) <= 15


def test_the_pods_of_two_nodes_are_apart_and_within_the_clusters() -> None:
    network = NETWORKS[3]
    assert network.pods_of(1) != network.pods_of(2)
    assert network.pods_of(2) == "10.219.2.0/24"
    assert network.node(2) == "10.200.3.2"
