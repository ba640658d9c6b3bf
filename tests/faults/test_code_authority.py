"""A fleet whose code comes from a server with a certificate of a private authority."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.cluster import Cluster
from tests.e2e import fleets
from tests.faults.waits import STARTED_WITHIN
from tests.git_repository import Repository
from tests.gitops.git_http import served
from tests.integration.played import message, told
from tests.private_authority import PrivateAuthority


def test_a_fleet_trains_with_code_of_a_private_authority_and_fails_at_once_without_its_certificate(
    own_cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    repository = Repository(tmp_path)
    commit = repository.commit(workload=fleets.WORKLOAD.read_text())
    folder = tmp_path / "authority"
    folder.mkdir()
    authority = PrivateAuthority(folder)
    certificate = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "lab-ca"},
        "data": {"ca.crt": authority.file.read_text()},
    }
    machine = own_cluster.machine
    with served(tmp_path, address=machine, tls=authority.server_context(machine)) as address:
        git = {"repository": f"{address}/{repository.bare.name}", "commit": commit}
        fleet = fleets.fleet()
        fleet["spec"]["code"] = {"git": git, "certificateAuthority": {"configMap": "lab-ca"}}
        own_cluster.apply([certificate, fleet], namespace)
        # Driver, head and worker have fetched the code by then.
        seen = own_cluster.wait_for("cfleet/fleet", "Ready", namespace, within=STARTED_WITHIN)
        assert seen["status"]["code"] == {"digest": f"git:{commit}"}
        own_cluster.delete("cfleet/fleet", namespace)

        without = fleets.fleet("without")
        without["spec"]["code"] = {"git": git}
        own_cluster.apply(without, namespace)
        seen = own_cluster.wait_for(
            "cfleet/without", lambda one: told(one, "Completed")[1] == "Failed", namespace, within=180
        )
    assert message(seen, "Completed").startswith(
        f"spec.code.git {git['repository']} at {commit}: no trusted certificate authority has signed the certificate "
        "of the server: "
    )
    assert "; set spec.code.certificateAuthority" in message(seen, "Completed")
