from __future__ import annotations

from typing import Any

import pytest
import yaml
from tests.manifests import manifest

from collectorfleet_api.manifests.files import load_manifests

TRAIN = {"function": "train:train"}


def config_map(name: str = "code", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **fields}


def fleet(code: dict[str, Any], script: str | None = None, namespace: str | None = None) -> dict[str, Any]:
    made = manifest()
    if namespace:
        made["metadata"]["namespace"] = namespace
    if script:
        made["spec"] = {key: made["spec"][key] for key in ("image", "collectors")}
        made["spec"]["driver"] = {"script": script}
    return {**made, "spec": {**made["spec"], "code": code}}


def findings(*objects: dict[str, Any]) -> list[str]:
    loaded = load_manifests(yaml.safe_dump_all(objects, sort_keys=False), "fleet.yaml")
    assert len(loaded.fleets) == (not loaded.errors)
    # Without the line, which the next test checks.
    return [str(found).split(": ", 1)[1] for found in loaded.findings]


def test_a_script_that_the_config_map_of_the_file_does_not_have_is_named() -> None:
    text = {"train.py": "print()", "envs.py": ""}
    assert findings(config_map(data=text), fleet({"configMap": "code"}, "train.py")) == []
    assert findings(fleet({"configMap": "code"}, "trian.py"), config_map(data=text)) == [
        (
            'warning: spec.driver.script: ConfigMap "code" in this file has no key "trian.py", so the driver looks for '
            "the script only in the image; did you mean train.py?"
        )
    ]


def test_a_script_in_a_folder_is_no_key_and_an_absolute_path_is_in_the_image() -> None:
    code = config_map(data={"train.py": "print()"})
    assert findings(code, fleet({"configMap": "code"}, "/opt/own/train.py")) == []
    assert findings(code, fleet({"configMap": "code"}, "lab/evaluate.py")) == [
        (
            'warning: spec.driver.script: ConfigMap "code" in this file has no key "lab/evaluate.py", so the driver '
            "looks for the script only in the image; name a key, or leave the folder out"
        )
    ]


@pytest.mark.parametrize(
    ("code", "field", "key"),
    [
        (
            {"archive": {"configMap": "code", "key": "tree.tgz", "sha256": "0" * 64}},
            "spec.code.archive.key",
            "tree.tgz",
        ),
        (
            {
                "artifact": {"reference": "registry.example/code@sha256:" + "0" * 64},
                "certificateAuthority": {"configMap": "code", "key": "ca.pem"},
            },
            "spec.code.certificateAuthority.key",
            "ca.pem",
        ),
    ],
)
def test_a_key_without_which_no_pod_starts_is_an_error(code: dict[str, Any], field: str, key: str) -> None:
    assert findings(fleet(code), config_map(binaryData={key: "AAAA"})) == []
    assert findings(fleet(code), config_map(binaryData={"other": "AAAA"}, data={"more": ""})) == [
        f'error: {field}: ConfigMap "code" in this file has no key "{key}"; add the key, or name another key'
    ]


def test_a_finding_has_the_line_of_the_fleets_field() -> None:
    text = yaml.safe_dump_all([config_map(), fleet({"configMap": "code"}, "train.py")], sort_keys=False)
    [found] = load_manifests(text).findings
    assert text.splitlines()[found.line - 1].strip() == "script: train.py"


def test_config_maps_elsewhere_are_not_judged() -> None:
    code = {"configMap": "code"}
    assert findings(fleet(code, "train.py"), config_map("other", data={})) == []
    elsewhere = config_map(data={})
    elsewhere["metadata"]["namespace"] = "b"
    assert findings(fleet(code, "train.py", "a"), elsewhere) == []
    odd = [{**config_map(), "metadata": "code"}, {**config_map(), "metadata": {}}]
    assert findings(fleet(code, "train.py"), *odd) == []


@pytest.mark.parametrize("data", [None, 7, [], "text"])
def test_a_config_map_whose_data_is_no_mapping_has_no_key(data: Any) -> None:
    odd = yaml.safe_dump_all([{**config_map(), "metadata": "code"}, config_map(data=data)])
    assert load_manifests(odd).config_map("code") == {}
    assert len(findings(fleet({"configMap": "code"}, "train.py"), config_map(data=data))) == 1
