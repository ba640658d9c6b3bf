"""What the section about a local cluster says of its images, volumes and configuration."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from tests.cluster import storage
from tests.cluster.__main__ import FOLDER
from tests.cluster.binaries import ROOT
from tests.cluster.packages import CLUSTER
from tests.cluster.pki import ADMIN, Pki
from tests.cluster.thin_images import COLLECTOR_IMAGES

from collectorfleet.cli.pods import children
from collectorfleet_api.manifests.files import load_manifests
from collectorfleet_api.packing.quantity import parse_quantity
from collectorfleet_operator.objects import Object

SECTION = (ROOT / "docs/install.md").read_text().partition("\n## A local cluster\n")[2].partition("\n## ")[0]
EXAMPLES = sorted(set(re.findall(r"`(\w+\.yaml)`", SECTION)))


def cpus_of(template: Object) -> Fraction:
    """Return the CPUs that a pod of the template requests."""
    return sum(
        (parse_quantity(one["resources"]["requests"]["cpu"]) for one in template["spec"]["containers"]), Fraction(0)
    )


def cpus_of_fleet(file: Path) -> Fraction:
    """Return the CPUs that all pods of the fleet in ``file`` request."""
    (fleet,) = load_manifests(file.read_text(), file.name).fleets
    specs = [child["spec"] for child in children(fleet) if child["kind"] in ("Job", "RayCluster")]
    jobs = [(spec["template"], spec.get("parallelism", 1)) for spec in specs if "template" in spec]
    clusters = [spec for spec in specs if "headGroupSpec" in spec]
    heads = [(spec["headGroupSpec"]["template"], 1) for spec in clusters]
    workers = [(group["template"], group["replicas"]) for spec in clusters for group in spec["workerGroupSpecs"]]
    return sum((count * cpus_of(template) for template, count in jobs + heads + workers), Fraction(0))


def test_it_names_each_image_of_a_fleet_that_the_nodes_have() -> None:
    assert [image for image in COLLECTOR_IMAGES if f"`{image}`" not in SECTION] == []


def test_its_kubeconfig_is_that_of_the_cluster() -> None:
    kubeconfig = Pki(FOLDER / "pki").kubeconfig(ADMIN).relative_to(ROOT)
    assert f"export KUBECONFIG=$PWD/{kubeconfig} " in SECTION


def test_it_counts_the_volumes() -> None:
    assert storage.VOLUMES == 8
    assert "one of eight volumes" in SECTION


def test_a_package_that_it_names_is_installed_by_it() -> None:
    assert "`containerd`" in SECTION
    assert "containerd" in CLUSTER.values()


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_that_it_names_fits_on_two_cores(example: str) -> None:
    assert "1,850m CPU" in SECTION
    assert 0 < cpus_of_fleet(ROOT / "examples" / example) <= Fraction("1.85")


def test_it_names_several_examples_and_no_example_is_taken_for_smaller_than_it_is() -> None:
    assert len(EXAMPLES) > 2
    assert cpus_of_fleet(ROOT / "examples/self_play.yaml") > Fraction("1.85")
