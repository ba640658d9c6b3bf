"""A fleet whose code is a commit of a repository, from a server that its pods reach."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.git_repository import Repository
from tests.gitops.git_http import served
from tests.integration.played import message, told


def test_a_fleet_trains_from_a_commit_and_fails_at_once_from_one_that_is_not_there(
    own_cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """The package is below `src`, and the branch went on since."""
    repository = Repository(tmp_path)
    commit = repository.commit(**{"src/lab/__init__": "", "src/lab/training": fleets.WORKLOAD.read_text()})
    repository.commit(**{"src/lab/training": "raise ValueError('not this one')\n"})
    with served(tmp_path, address=own_cluster.machine) as address:
        url = f"{address}/{repository.bare.name}"
        fleet = fleets.fleet(environment="lab.training:make_env", train="lab.training:train")
        fleet["spec"]["policy"]["factory"] = "lab.training:make_policy"
        fleet["spec"]["code"] = {"git": {"repository": url, "commit": commit}, "path": "src"}
        own_cluster.apply(fleet, namespace)
        seen = own_cluster.wait_for("cfleet/fleet", "Ready", namespace, within=400)
        assert seen["status"]["code"] == {"digest": f"git:{commit}"}
        own_cluster.kubectl("delete", "cfleet/fleet", "-n", namespace)

        absent = fleets.fleet("absent")
        absent["spec"]["code"] = {"git": {"repository": url, "commit": "1" * 40}}
        own_cluster.apply(absent, namespace)
        seen = own_cluster.wait_for(
            "cfleet/absent", lambda one: told(one, "Completed")[1] == "Failed", namespace, within=180
        )
    assert message(seen, "Completed").startswith(
        f"spec.code.git {url} at {'1' * 40}: the repository does not serve this commit; push the commit, or correct "
        "the hash: "
    )
    assert "to try again, change the spec, or delete the Job" in message(seen, "Completed")
