"""What the operator says if it finds no API server to connect to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from collectorfleet_operator.edge import configuration
from collectorfleet_operator.edge.errors import NotConfiguredError

OUTSIDE = "; set KUBECONFIG to a valid kubeconfig, or run the operator in a pod with a service account"
INSIDE = "; mount the token of a service account into the pod (automountServiceAccountToken)"


def refused() -> str:
    with pytest.raises(NotConfiguredError) as error:
        asyncio.run(configuration.load())
    return str(error.value)


@pytest.mark.parametrize(
    ("kubeconfig", "why"),
    [
        ("", "it is not a valid kubeconfig ("),
        ("a text", "it is not a valid kubeconfig ("),
        ("{", "it is not a valid kubeconfig ("),
        ("[1]", "it is not a valid kubeconfig ("),
        ("current-context: other", "Invalid kube-config file. "),
        ("users: [{token: secret}]\ncurrent-context: other", "Invalid kube-config file. "),
    ],
    ids=repr,
)
def test_a_kubeconfig_that_leads_nowhere_is_one_error(
    kubeconfig: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    file = tmp_path / "kubeconfig"
    file.write_text(kubeconfig)
    monkeypatch.setattr("kubernetes.aio.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(file))
    said = refused()
    assert said.startswith(f"cannot connect to a cluster: {why}")
    assert said.endswith(OUTSIDE)
    assert "secret" not in said


def test_a_kubeconfig_that_does_not_exist_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    files = f"{tmp_path}/a:{tmp_path}/b"
    monkeypatch.setattr("kubernetes.aio.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", files)
    assert refused() == f"cannot connect to a cluster: {files} does not exist{OUTSIDE}"


def test_a_folder_in_the_place_of_a_kubeconfig_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr("kubernetes.aio.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path))
    assert refused() == f"cannot connect to a cluster: {tmp_path}: Is a directory{OUTSIDE}"


def test_a_pod_without_a_token_is_not_told_to_set_what_a_pod_does_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    monkeypatch.setattr("kubernetes.aio.config.incluster_config.SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    assert refused() == f"cannot connect to a cluster: Service token file does not exist{INSIDE}"
