"""Options of batches that pass through the driver, beside collectors that write elsewhere themselves."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import LEARNERS, RING
from tests.manifests import manifest

from collectorfleet_api.rules.validation import read
from collectorfleet_api.v1alpha1 import CollectorFleet

ADVICE = (
    "so no batch passes through the driver; leave the fields postproc, splitTrajs, copy and compactObservations of "
    "collection out"
)


@pytest.mark.parametrize(
    ("sink", "where"),
    [
        ({"spec.replayBuffer": RING}, "spec.replayBuffer: collectors write into the buffer themselves"),
        ({"spec.learners": LEARNERS}, "spec.learners: collectors write to replay actors themselves"),
    ],
    ids=["a replay buffer", "learners"],
)
@pytest.mark.parametrize(
    "option",
    [
        {"postproc": {"factory": "my_envs:postproc"}},
        {"splitTrajs": True},
        {"copy": False},
        {"compactObservations": True},
    ],
    ids=str,
)
def test_each_option_of_batches_is_refused_beside_a_sink_and_taken_without(
    option: dict[str, Any], sink: dict[str, Any], where: str
) -> None:
    options = {f"spec.collection.{name}": value for name, value in option.items()}
    found = read(manifest({**sink, **options}))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [f"{where}, {ADVICE}"]
    assert isinstance(read(manifest(options)), CollectorFleet)
    assert isinstance(read(manifest(sink)), CollectorFleet)
