"""A driver without Ray: it listens at its pod's address, with the token of its pod."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.combinations.parts import JOB
from tests.unit.collectorfleet_operator.children.fleets import fleet

from collectorfleet.errors import InfrastructureError
from collectorfleet.pod.hosts import hosts_of
from collectorfleet.pod.settings import DriverSettings
from collectorfleet_api import names

ENV = {
    names.ENV_NAMESPACE: "lab",
    names.ENV_NAME: "cheetah",
    names.ENV_UID: "u-1",
    names.ENV_POD: "cheetah-driver-x",
    names.ENV_POD_IP: "127.0.0.1",
}


@pytest.fixture
def settings(tmp_path: Path) -> DriverSettings:
    spec = tmp_path / "spec"
    spec.write_text("{}")
    return DriverSettings.from_env({**ENV, names.ENV_SPEC: str(spec)})


def test_the_driver_of_a_job_needs_its_pods_address_in_the_place_of_rays(settings: DriverSettings) -> None:
    assert (settings.pod_ip, settings.ray_address) == ("127.0.0.1", "")


def test_it_listens_for_hosts_of_as_many_collectors_as_a_pod_has(
    settings: DriverSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "HOSTS_PORT", 0)  # any that is free
    token = tmp_path / "token"
    token.write_bytes(b"0123456789abcdef\n")
    made = hosts_of(fleet({**JOB, "spec.workers.collectorsPerPod": 2}), settings, 0.0, token)
    try:
        assert (made.host, made.token, made.collectors_per_host) == ("127.0.0.1", b"0123456789abcdef", 2)
    finally:
        made.close()


def test_a_pod_without_its_token_says_so_at_once(settings: DriverSettings, tmp_path: Path) -> None:
    """Kubernetes starts a pod after all of its Secrets exist. Waiting for one that lacks the token would be endless."""
    token = tmp_path / "token"
    with pytest.raises(InfrastructureError, match=f"the token of the collectors' hosts: FileNotFoundError: .*{token}"):
        hosts_of(fleet(JOB), settings, 0.0, token)
