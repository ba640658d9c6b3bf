from __future__ import annotations

from fractions import Fraction

import pytest
from pydantic import BaseModel

from collectorfleet_api.packing.quantity import format_cpu, format_memory
from collectorfleet_api.packing.resources import (
    OBJECT_STORE_BYTES,
    OBJECT_STORE_BYTES_PER_COLLECTOR,
    RAY_CPUS,
    RAY_MEMORY_BYTES,
    worker_pod_resources,
)
from collectorfleet_api.v1alpha1 import Collectors, Evaluation


def test_a_pod_asks_for_its_collectors_and_for_ray() -> None:
    found = worker_pod_resources(cpu=0.5, memory="2Gi", per_pod=4, gpus=1)
    assert found.cpus == 4 * Fraction(1, 2) + RAY_CPUS
    assert found.memory_bytes == 4 * 2**31 + RAY_MEMORY_BYTES + found.object_store_bytes
    assert found.object_store_bytes == OBJECT_STORE_BYTES + 4 * OBJECT_STORE_BYTES_PER_COLLECTOR
    assert found.gpus == 1


def test_the_numbers_of_a_pod_are_those_of_the_documentation() -> None:
    found = worker_pod_resources(cpu=0.5, memory="2Gi", per_pod=4, gpus=2)
    assert (found.cpus, found.gpus) == (Fraction("2.2"), 2)
    assert format_memory(found.object_store_bytes) == "1280Mi"
    assert format_memory(found.memory_bytes) == format_memory((4 * 2048 + 512 + 1280) * 2**20)


def test_a_fraction_of_a_byte_is_a_byte() -> None:
    base = worker_pod_resources(cpu=1, memory=0, per_pod=1, gpus=0).memory_bytes
    assert worker_pod_resources(cpu=1, memory="500m", per_pod=1, gpus=0).memory_bytes == base + 1


@pytest.mark.parametrize(("model", "one"), [(Collectors, "collector"), (Evaluation, "evaluator")])
def test_the_field_tells_users_how_much_ray_adds(model: type[BaseModel], one: str) -> None:
    description = model.model_fields["resources"].description or ""
    for part in (
        f"{format_cpu(RAY_CPUS)} CPU",
        format_memory(RAY_MEMORY_BYTES + OBJECT_STORE_BYTES),
        f"{format_memory(OBJECT_STORE_BYTES_PER_COLLECTOR)} for each {one}",
    ):
        assert part in description
