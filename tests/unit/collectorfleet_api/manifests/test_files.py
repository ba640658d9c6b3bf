from __future__ import annotations

import codecs
from pathlib import Path

import pytest
import yaml
from tests.manifests import manifest

from collectorfleet_api.manifests.files import MAX_FILE_BYTES, load_file, load_manifests

FLEET = yaml.safe_dump(manifest())


def findings(text: str) -> list[str]:
    return [str(found) for found in load_manifests(text, "fleet.yaml").findings]


def test_a_file_may_hold_the_code_beside_the_fleet() -> None:
    text = f"{FLEET}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: code}}\ndata:\n  my_envs.py: |\n    x = 1\n"
    loaded = load_manifests(text)
    assert [fleet.metadata.name for fleet in loaded.fleets] == ["cheetah"]
    assert loaded.config_map("code") == {"my_envs.py": "x = 1\n"}
    assert loaded.config_map("other") is None
    assert loaded.findings == []


def test_a_finding_names_file_and_line() -> None:
    text = FLEET.replace("replicas: 4", "replicaz: 4")
    line = text.split("\n").index("    replicaz: 4") + 1
    assert findings(text) == [
        f"fleet.yaml:{line}: error: spec.collectors.replicaz: unknown field; did you mean replicas?"
    ]


def test_lines_count_through_all_documents_of_a_file() -> None:
    text = f"# code\n---\n{FLEET}---\n{FLEET.replace('cheetah', '5cheetah', 1)}"
    assert [found.split(":")[1] for found in findings(text)] == ["25"]


def test_a_missing_field_is_found_where_it_belongs() -> None:
    text = FLEET.replace("  image: ghcr.io/you/cheetah:1.0\n", "")
    (found,) = findings(text)
    assert found.startswith("fleet.yaml:5: error: spec.image: missing, and required: Image of head")


def test_a_repeated_key_is_a_problem_since_kubectl_takes_the_last_without_a_word() -> None:
    text = FLEET.replace("    replicas: 4", "    replicas: 4\n    replicas: 8")
    assert "spec.collectors.replicas: appears again on line" in findings(text)[0]
    assert load_manifests(text).fleets == []


@pytest.mark.parametrize("levels", [61, 100])
def test_a_fleet_that_is_nested_too_deeply_is_found_with_its_place(levels: int) -> None:
    # The fleet, its spec, the environment and its kwargs are four levels.
    kwargs = "{a: " * levels + "1" + "}" * levels
    text = FLEET.replace("  environment:\n", f"  environment:\n    kwargs: {{x: {kwargs}}}\n")
    (found,) = findings(text)
    place = "spec.environment.kwargs.x.a"
    assert found.startswith("fleet.yaml:")
    assert (
        f"error: {place}: nested more than 64 levels deep; flatten the value, or pass the value as JSON text" in found
    )
    assert findings(FLEET.replace("  environment:\n", "  environment:\n    kwargs: {x: {a: [1]}}\n")) == []


def test_text_that_is_no_yaml_is_found_after_what_comes_before_it() -> None:
    loaded = load_manifests(f"{FLEET}---\na: [\n", "fleet.yaml")
    assert len(loaded.fleets) == 1
    assert "error: not YAML: " in str(loaded.findings[0])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "- 1",
            "fleet.yaml:1: error: not a Kubernetes object: a mapping with apiVersion, kind and metadata is expected",
        ),
        ("apiVersion: v1", "fleet.yaml:1: error: kind: missing, and required; a fleet has kind: CollectorFleet"),
        (
            "apiVersion: collectorfleet.dev/v1alpha1\nkind: CollectorFlet",
            (
                'fleet.yaml:2: error: kind: "CollectorFlet" is not a kind of collectorfleet.dev;'
                " did you mean CollectorFleet?"
            ),
        ),
        (
            "apiVersion: v1\nkind: CollectorFleet",
            'fleet.yaml:1: error: apiVersion: "v1" has no CollectorFleet; write collectorfleet.dev/v1alpha1',
        ),
    ],
)
def test_what_is_no_object_of_ours_is_said(text: str, sentence: str) -> None:
    assert findings(text) == [sentence]


def test_a_later_version_of_ours_is_named() -> None:
    text = FLEET.replace("v1alpha1", "v1")
    assert findings(text) == [
        'fleet.yaml:1: error: apiVersion: "collectorfleet.dev/v1" is not known here; write collectorfleet.dev/v1alpha1'
    ]


def test_fleets_in_a_list_are_found() -> None:
    text = yaml.safe_dump(
        {"apiVersion": "v1", "kind": "List", "items": [manifest(), manifest({"spec.image": ""}, "b")]}
    )
    loaded = load_manifests(text, "fleet.yaml")
    assert len(loaded.fleets) == 1
    assert [str(found.problem) for found in loaded.errors] == [
        "spec.image: empty; write something or leave the field out"
    ]


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    assert len(load_file(tmp_path / "fleet.yaml").fleets) == 1


def test_numbers_mean_what_they_mean_to_the_api_server() -> None:
    text = FLEET.replace("framesPerBatch: 4000", "framesPerBatch: 4e3").replace(
        "function: my_train:train", "function: my_train:train\n      kwargs: {lr: 3e-4, gamma: 1.0, start: 1:30}"
    )
    (fleet,) = load_manifests(text).fleets
    assert fleet.spec.collection.frames_per_batch == 4000
    assert fleet.spec.driver.train is not None
    assert repr(fleet.spec.driver.train.kwargs) == "{'lr': 0.0003, 'gamma': 1, 'start': '1:30'}"


def test_a_key_that_no_config_map_can_have_is_found_with_its_line() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: code}\ndata:\n  envs.py: x\n  ../outside.py: x\n  'a b': x\n"
    )
    in_a_folder, with_a_space = findings(text)
    assert in_a_folder == (
        "fleet.yaml:4: error: data: '../outside.py' is not a valid ConfigMap key, because it contains '/'; "
        "put files of folders into spec.code.archive, git or artifact"
    )
    assert with_a_space.startswith(
        "fleet.yaml:4: error: data: 'a b' is not a valid ConfigMap key; use 1 to 253 letters"
    )


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: code}\n"


@pytest.mark.parametrize(
    ("documents", "sentences"),
    [
        pytest.param(
            [FLEET, FLEET, FLEET],
            ["metadata.name: CollectorFleet cheetah is on line 4 already; rename one of the two"] * 2,
            id="fleets",
        ),
        pytest.param(
            [FLEET, CONFIG_MAP, CONFIG_MAP],
            ["metadata.name: ConfigMap code is on line 22 already; rename one of the two"],
            id="objects of other kinds",
        ),
        pytest.param([FLEET, FLEET.replace("cheetah", "other", 1)], [], id="two names"),
        pytest.param(
            [FLEET, FLEET.replace("  name: cheetah", "  name: cheetah\n  namespace: lab", 1)], [], id="two namespaces"
        ),
        pytest.param([FLEET, CONFIG_MAP.replace("code", "cheetah")], [], id="two kinds"),
    ],
)
def test_each_name_is_given_once(documents: list[str], sentences: list[str]) -> None:
    loaded = load_manifests("---\n".join(documents))
    assert [str(found.problem) for found in loaded.findings] == sentences
    assert len(loaded.fleets) == sum("CollectorFleet" in text for text in documents) - len(
        [one for one in sentences if "CollectorFleet" in one]
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            FLEET.encode() + b"# caf\xe9\n",
            "19: error: not text: byte 0xe9 is not UTF-8; name a manifest, or save the file as UTF-8",
        ),
        (codecs.BOM_UTF16_LE + FLEET.encode("utf-16-le"), "1: error: UTF-16 text; save the file as UTF-8"),
        (b"a: 1\nb: \0\n", "2: error: not text: U+0000 is a control character; name a manifest"),
        (
            b"\n" * (MAX_FILE_BYTES + 1),
            f"{MAX_FILE_BYTES + 2}: error: more than 8 MiB; split the file, and name only files of manifests",
        ),
    ],
    ids=["latin-1", "utf-16", "nul", "size"],
)
def test_a_file_that_is_no_manifest_is_refused_with_the_line(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_bytes(content)
    loaded = load_file(file)
    assert [str(found) for found in loaded.findings] == [f"{file}:{sentence}"]
    assert loaded.fleets == []


def test_a_mark_of_utf_8_at_the_beginning_is_no_problem(tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_bytes(codecs.BOM_UTF8 + FLEET.encode())
    assert [fleet.metadata.name for fleet in load_file(file).fleets] == ["cheetah"]
