"""Options of a fleet that ask something of its pods."""

from __future__ import annotations

import pytest
from tests.cluster.client import Client
from tests.e2e import fleets


@pytest.mark.variant_of(
    "tests/run/test_options.py::test_several_processes_of_several_environments_make_whole_steps_of_a_batch"
)
@pytest.mark.variant_of("tests/run/test_options.py::test_a_policy_trains_from_a_replay_buffer_that_the_collectors_fill")
def test_collectors_of_several_processes_fill_a_replay_buffer_in_the_drivers_pod(
    cluster: Client, namespace: str
) -> None:
    fleet = fleets.fleet(replicas=2, frames=400, train="workload:train_from_buffer", kwargs={"frames": 2000})
    spec = fleet["spec"]
    spec["collection"] |= {"maxStaleness": 1}
    spec["collectors"] |= {"class": "Sync", "numWorkersPerCollector": 2}
    spec["collectors"]["resources"]["memory"] = "2500Mi"
    spec["weights"] = {"dtype": "BFloat16"}
    spec["replayBuffer"] = {"factory": "workload:make_buffer", "kwargs": {"size": 100_000}}
    cluster.apply([fleets.code(), fleet], namespace)
    status = cluster.wait_for("cfleet/fleet", "Completed", namespace, within=500)["status"]
    progress = status["progress"]
    # Collectors look one batch ahead: what they have written then is not delivered any more.
    assert 2000 <= progress["framesDelivered"] <= progress["metrics"]["written"]
    assert progress["metrics"]["sampled"] == 64
    assert 1 < progress["metrics"]["newest"] <= status["weights"]["published"]
    # Where the buffer took a CPU of a worker pod, one of them would have found no place.
    assert [row["frames"] > 0 for row in status["collectors"]] == [True, True]
    assert progress["collectors"]["restarts"] == 0
