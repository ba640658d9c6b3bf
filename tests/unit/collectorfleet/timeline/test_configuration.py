"""The part of a fleet's spec by which runs are compared."""

from __future__ import annotations

from typing import Any

import pytest
from tests.manifests import ABSENT, fleet

from collectorfleet.timeline.configuration import configuration


def test_it_has_what_the_run_learns_with() -> None:
    found = configuration(fleet({"spec.driver.train.kwargs": {"lr": 0.1, "seed": 3, "template": "user"}}).spec)
    assert found["driver"]["train"]["kwargs"] == {"lr": 0.1, "seed": 3, "template": "user"}
    assert found["collection"]["framesPerBatch"] == 4000
    assert found["collectors"]["replicas"] == 4


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.ttlSecondsAfterFinished", 60),
        ("spec.suspend", True),
        ("spec.driver.checkpoint", {"claimName": "other"}),
        ("spec.workers.template", {"spec": {"nodeSelector": {"a": "b"}}}),
        ("spec.driver.template", {"spec": {"containers": [{"name": "driver", "env": [{"name": "A", "value": "b"}]}]}}),
        ("spec.backoffLimit", 7),
    ],
)
def test_how_pods_are_operated_is_no_part_of_it(path: str, value: object) -> None:
    assert configuration(fleet({path: value}).spec) == configuration(fleet().spec)


def test_code_is_known_by_its_digest_and_not_by_the_name_that_each_fleet_gives_it() -> None:
    def code(name: str, digest: str) -> object:
        return configuration(fleet({"spec.code": {"archive": {"configMap": name, "sha256": digest * 64}}}).spec)["code"]

    assert code("one", "a") == code("two", "a") == {"archive": "a" * 64}
    assert code("one", "a") != code("one", "b")


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "apiKey", "WANDB_API_KEY", "key", "accessKey", "license-key", "private_key", "authKeys"),
        *("token", "hf_token", "hfToken", "accesstoken", "tokens", "secret", "clientSecret", "secret_key"),
        *("password", "dbPassword", "PASSWORD", "passphrase", "credential", "credentials", "awsCredentials"),
    ],
)
@pytest.mark.parametrize("secret", ["S3CRET", {"inner": ["S3CRET"]}], ids=["text", "in a structure"])
def test_a_value_whose_name_is_that_of_a_secret_is_masked(name: str, secret: Any) -> None:
    changes = {"spec.environment.kwargs": {"deep": [{name: secret}]}, "spec.driver.train.kwargs": {name: secret}}
    found = configuration(fleet(changes).spec)
    assert "S3CRET" not in str(found)
    assert list(found["driver"]["train"]["kwargs"]) == [name]
    assert "masked" in str(found["environment"])


@pytest.mark.parametrize(
    "kwargs",
    [
        *({"keepBest": "x"}, {"monkey": "x"}, {"pixelKey": "pixels"}, {"observation_key": "x"}, {"in_keys": ["x"]}),
        *({"tokenizer": "gpt2"}, {"max_tokens": 512}, {"key_dim": 64}, {"token": True}, {"passes": "x"}, {"key": 3}),
        {"password": None},
    ],
)
def test_a_value_whose_name_only_resembles_one_of_a_secret_is_compared(kwargs: dict[str, Any]) -> None:
    found = configuration(fleet({"spec.driver.train.kwargs": kwargs}).spec)
    assert found["driver"]["train"]["kwargs"] == kwargs


def test_a_number_is_a_secret_if_it_is_a_password() -> None:
    found = configuration(fleet({"spec.driver.train.kwargs": {"password": 123456}}).spec)
    assert found["driver"]["train"]["kwargs"] == {"password": "masked"}


def test_the_user_in_an_address_is_masked() -> None:
    found = configuration(fleet({"spec.driver.train.kwargs": {"db": "postgres://me:S3CRET@host/runs"}}).spec)
    assert found["driver"]["train"]["kwargs"] == {"db": "postgres://masked@host/runs"}


def test_words_in_arguments_of_programs_are_digests_that_differ_as_the_words_do() -> None:
    def arguments(word: str) -> tuple[list[str], list[str]]:
        given = ["--lr=0.1", "--fast", f"--algo={word}", "--epochs", "3", "--load", word, word, "--amp=true"]
        changes = {
            "spec.driver.train": ABSENT,
            "spec.driver.script": "train.py",
            "spec.driver.args": given,
            "spec.environment.process": {"command": ["./server", *given], "ports": ["p"]},
        }
        found = configuration(fleet(changes).spec)
        return found["driver"]["args"], found["environment"]["process"]["command"]

    args, command = arguments("S3CRET")
    digest = "sha256:d580fbb1"
    assert args == [
        *("--lr=0.1", "--fast", f"--algo={digest}", "--epochs", "3", "--load", digest, digest, "--amp=true")
    ]
    assert command == ["./server", *args]
    assert arguments("other")[0] != args


@pytest.mark.parametrize("given", [["--api-key", "S3CRET"], ["--api-key=S3CRET"], ["--password=123"]])
def test_the_value_of_a_secret_option_is_masked(given: list[str]) -> None:
    changes = {"spec.driver.train": ABSENT, "spec.driver.script": "train.py", "spec.driver.args": given}
    args = configuration(fleet(changes).spec)["driver"]["args"]
    assert "masked" in str(args)
    assert "S3CRET" not in str(args)
    assert "123" not in str(args)
