"""Options of batches that pass through the driver, beside a buffer that collectors write into."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import RING
from tests.manifests import manifest

from collectorfleet_api.rules.validation import read
from collectorfleet_api.v1alpha1 import CollectorFleet

SENTENCE = (
    "spec.replayBuffer: collectors write into the buffer themselves, so no batch passes through the driver; leave "
    "collection.postproc, splitTrajs, copy and compactObservations out"
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
def test_each_option_of_batches_is_refused_beside_a_replay_buffer_and_taken_without(option: dict[str, Any]) -> None:
    options = {f"spec.collection.{name}": value for name, value in option.items()}
    found = read(manifest({"spec.replayBuffer": RING, **options}))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [SENTENCE]
    assert isinstance(read(manifest(options)), CollectorFleet)
