"""What a user writes reaches no shell: KubeRay pastes commands and the parameters of `ray start` into one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from tests.manifests import ABSENT, changed, manifest

from collectorfleet_api.rules.validation import read
from collectorfleet_api.schema.crd import schema
from collectorfleet_operator.children.table import manifests

MARK = "hostile-mark"
HOSTILE = [f"$({MARK})", f"`{MARK}`", f"'; {MARK}; '", f'"; {MARK}; "', f"\n{MARK}", f" & {MARK} #", f"'\"$({MARK})\"'"]
# Whatever a shell does with these is nothing.
PLAIN = re.compile(r"[A-Za-z0-9._/-]*")
# The keys below which Kubernetes and KubeRay look for what is run.
RUN = ("command", "args", "rayStartParams")

FACTORY = {"factory": "a:b", "kwargs": {"key": "value"}}
PROCESS = {"command": ["server", "--port={grpc}"], "ports": ["grpc"]}
SECRET = {"name": "secret"}
ARCHIVED = {"archive": {"url": "https://example.com/a.tar", "sha256": "0" * 64}}


def template(container: str) -> dict[str, Any]:
    """Everything in a pod template but what the user himself has run."""
    return {
        "metadata": {"labels": {"team": "lab"}, "annotations": {"note": "text"}},
        "spec": {
            "containers": [{"name": container, "env": [{"name": "WORDS", "value": "text"}], "workingDir": "/tmp"}],
            "initContainers": [{"name": "first", "image": "first:1"}],
            "volumes": [{"name": "data", "hostPath": {"path": "/data"}}],
            "serviceAccountName": "mine",
        },
    }


TRAINED: dict[str, Any] = {
    "spec.environment": FACTORY,
    "spec.policy": FACTORY,
    "spec.imagePullSecrets": [SECRET],
    "spec.priorityClassName": "batch",
    "spec.tolerations": [{"key": "gpu", "value": "a100"}],
    "spec.code": {"configMap": "code"},
    "spec.driver": {
        "train": {"function": "a:b", "kwargs": {"key": "value"}},
        "checkpoint": {"claimName": "claim", "subPath": "sub"},
        "log": {"tensorboard": "/logs", "logger": FACTORY},
        "template": template("driver"),
    },
    "spec.collection.postproc": FACTORY,
    "spec.collectors": {
        "replicas": 4,
        "resources": {"gpu": 0.5},
        "devices": dict.fromkeys(("device", "storingDevice", "envDevice", "policyDevice"), "cuda"),
        "preCollectHook": "a:b",
        "postCollectHook": "a:b",
        "kwargs": {"key": "value"},
        "failurePolicy": FACTORY,
        "scalingPolicy": FACTORY,
    },
    "spec.workers": {"gpu": {"mode": "MIG", "resource": "nvidia.com/mig-1g.10gb"}, "template": template("ray-worker")},
    "spec.weights": {"include": ["actor."], "models": [{"path": "env.model", **FACTORY}]},
    "spec.ray": {"version": "2.60.0", "head": {"template": template("ray-head")}},
    "metadata.labels": {"team": "lab"},
    "metadata.annotations": {"note": "text"},
}
MANIFESTS: dict[str, dict[str, Any]] = {
    "trained": TRAINED,
    "a script of a git repository": {
        "spec.driver": {"script": "train.py", "args": ["--lr"]},
        **dict.fromkeys(("spec.environment", "spec.policy", "spec.collection"), ABSENT),
        "spec.code": {
            "git": {"repository": "https://git.example.com/lab.git", "commit": "0" * 40, "credentialsSecret": SECRET},
            "certificateAuthority": {"configMap": "ca", "key": "ca.pem"},
            "path": "src",
        },
    },
    "an archive of a URL": {"spec.code": ARCHIVED},
    "an archive of a ConfigMap": {"spec.code.archive": {"configMap": "a", "key": "a.tar", "sha256": "0" * 64}},
    "an artifact": {
        "spec.code": {
            "artifact": {"reference": f"ghcr.io/me/lab@sha256:{'0' * 64}", "credentialsSecret": SECRET},
            "certificateAuthority": {"secret": "ca"},
        }
    },
    "claims": {
        "spec.collectors.resources.gpu": 0.5,
        "spec.workers.gpu": {"mode": "DRA", "claimTemplate": "gpus"},
    },
    "custom resources": {
        "spec.collectors.resources.custom": {"license": 1},
        "spec.workers.customPerPod": {"license": 2},
    },
    "a replay buffer": {"spec.replayBuffer": FACTORY},
    "learners": {
        "spec.learners": {
            **FACTORY,
            "split": "a:b",
            "policies": [{"id": "red", "module": "module.red", **FACTORY}],
            "replay": FACTORY,
            "template": template("ray-worker"),
        },
    },
    "evaluation": {
        "spec.evaluation": {
            "environment": {**FACTORY, "process": PROCESS},
            "template": template("ray-worker"),
            "video": {"pixelKey": "pixels"},
        },
        "spec.driver.curriculum": {"function": "a:b"},
    },
    "a simulator": {"spec.environment.process": PROCESS},
    "a group": {
        "spec.collectors": {
            "replicas": 4,
            "groups": [
                {
                    "name": "fast",
                    "replicas": 4,
                    "environment": {**FACTORY, "process": PROCESS},
                    "resources": {"gpu": 0.5},
                    "devices": dict.fromkeys(("device", "storingDevice", "envDevice", "policyDevice"), "cuda"),
                    "workers": {
                        "gpu": {"mode": "MIG", "resource": "nvidia.com/mig-1g.10gb"},
                        "template": template("ray-worker"),
                    },
                }
            ],
        },
    },
    "a group with claims": {
        "spec.collectors": {
            "replicas": 4,
            "groups": [
                {
                    "name": "fast",
                    "replicas": 4,
                    "resources": {"gpu": 0.5},
                    "workers": {"gpu": {"mode": "DRA", "claimTemplate": "gpus"}},
                }
            ],
        },
    },
    "files": {
        "spec.driver": ABSENT,
        "spec.output": {"path": "/data", "format": "ReplayBuffer", "replayBuffer": FACTORY},
    },
}

Path = tuple[str | int, ...]


def texts(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where a manifest has text."""
    match value:
        case str():
            yield path
        case dict():
            for key, inner in value.items():
                yield from texts(inner, (*path, key))
        case list():
            for index, inner in enumerate(value):
                yield from texts(inner, (*path, index))


def with_text(fleet: dict[str, Any], path: Path, text: str) -> dict[str, Any]:
    found = deepcopy(fleet)
    at: Any = found
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = text
    return found


def run(value: Any, below: bool = False) -> Iterator[str]:
    """All that is run, wherever it stands in an object."""
    match value:
        case dict():
            for key, inner in value.items():
                if below:
                    yield str(key)
                yield from run(inner, below or key in RUN)
        case list():
            for inner in value:
                yield from run(inner, below)
        case _ if below:
            yield str(value)


def children(fleet: dict[str, Any]) -> list[str] | None:
    """What the children of the fleet run; None if it is refused."""
    found = read(fleet)
    if isinstance(found, list):
        return None
    return [text for made in manifests(found).values() for text in run(made)]


@pytest.mark.parametrize("changes", MANIFESTS.values(), ids=list(MANIFESTS))
def test_hostile_text_in_any_field_is_refused_or_is_no_part_of_what_runs(changes: dict[str, Any]) -> None:
    fleet = manifest(changes)
    plain = children(fleet)
    assert plain is not None
    taken = 0
    for path in texts(fleet):
        value = fleet
        for part in path:
            value = value[part]  # type: ignore[index]
        for text in (HOSTILE[0], *(f"{value}{hostile}" for hostile in HOSTILE)):
            found = children(with_text(fleet, path, text))
            if found is not None:
                taken += 1
                assert not [one for one in found if MARK in one], f"{path}: {text!r}"
    # Images, names of claims, arguments: text that is anything, and that Kubernetes itself may refuse.
    assert taken


def test_names_of_keys_are_no_part_of_what_runs() -> None:
    for hostile in HOSTILE:
        fleet = manifest(
            {
                "spec.environment.kwargs": {hostile: 1},
                "spec.collectors.kwargs": {hostile: 1},
                "spec.workers.template": {"metadata": {"labels": {hostile: "a"}, "annotations": {hostile: "a"}}},
                "metadata.annotations": {hostile: "a"},
            }
        )
        found = children(fleet)
        assert found
        assert MARK not in json.dumps(found)


def test_the_name_of_a_custom_resource_is_in_what_runs_and_so_has_to_be_plain() -> None:
    for hostile in HOSTILE:
        for name in (hostile, f"license{hostile}"):
            assert children(manifest({"spec.workers.customPerPod": {name: 1}})) is None
    made = children(manifest({"spec.workers.customPerPod": {"my_license.v2-b": 1}}))
    assert made
    assert any("my_license.v2-b" in text for text in made)


def test_the_folder_of_the_code_is_in_what_runs_and_so_has_to_be_plain() -> None:
    """The one field of a user's that a shell sees."""
    folders = [f"{before}{one}" for before in ("", "src", "src/") for one in (*HOSTILE, "-a.b_1", "$HOME", "a b", "~")]
    taken = {one: found for one in folders if (found := children(manifest({"spec.code": {**ARCHIVED, "path": one}})))}
    assert "src/-a.b_1" in taken
    for folder, found in taken.items():
        assert PLAIN.fullmatch(folder)
        assert [text for text in found if f'"/opt/collectorfleet/code/{folder}${{PYTHONPATH:+:$PYTHONPATH}}"' in text]


def test_every_field_that_takes_text_was_looked_at() -> None:
    looked_at = {
        ".".join("[]" if isinstance(part, int) else part for part in path)
        for changes in MANIFESTS.values()
        for path in texts(changed(manifest(), changes))
    }
    asked = set(fields_of_text(schema()["properties"]["spec"], "spec"))
    assert len(asked) > 40
    assert asked - looked_at == set()


def fields_of_text(part: dict[str, Any], path: str) -> Iterator[str]:
    """Of the CRD, those where the text is not one of a few words."""
    if part.get("type") == "string" and "enum" not in part:
        yield path
    for name, inner in part.get("properties", {}).items():
        yield from fields_of_text(inner, f"{path}.{name}")
    if "items" in part:
        yield from fields_of_text(part["items"], f"{path}.[]")
