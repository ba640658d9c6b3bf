"""templates/fleet.yaml: the CollectorFleet of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.delivery.fleet_chart.chart import TRAIN, refusal, render, spec
from tests.delivery.helm import Helm

from collectorfleet_api import names
from collectorfleet_api.manifests.yaml_reader import read_documents
from collectorfleet_api.v1alpha1.base import whole_floats_to_int

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))
ODD = Path(__file__).with_name("odd.yaml").read_text()


def as_kubectl_reads(text: str) -> Any:
    [document] = read_documents(text)
    assert not document.problems
    return whole_floats_to_int(document.content)


def test_the_spec_is_what_fleet_says_word_for_word_and_number_for_number(helm: Helm) -> None:
    given = as_kubectl_reads(ODD)["fleet"]
    assert render(helm, ODD)["CollectorFleet"]["spec"] == given


def test_a_number_of_the_command_line_arrives_whole(helm: Helm) -> None:
    words = ("--set", "fleet.collection.totalFrames=10000000", "--set-json", 'fleet.environment.kwargs={"n": 20000000}')
    found = render(helm, {"fleet": spec()}, *words)["CollectorFleet"]["spec"]
    assert found["collection"]["totalFrames"] == 10_000_000
    assert found["environment"]["kwargs"] == {"n": 20_000_000}


def test_nothing_is_rendered_that_was_not_asked_for(helm: Helm) -> None:
    assert render(helm, {"fleet": spec()}).keys() == {"CollectorFleet"}
    assert render(helm, {"fleet": spec()})["CollectorFleet"]["spec"] == spec()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_spec_of_an_example_gives_the_object_of_the_example(helm: Helm, example: Path) -> None:
    documents = [document.content for document in read_documents(example.read_text())]
    fleet = whole_floats_to_int(next(found for found in documents if found["kind"] == names.KIND))
    found = render(helm, {"fleet": fleet["spec"]}, name=fleet["metadata"]["name"])[names.KIND]
    assert {key: found[key] for key in found if key != "metadata"} == {
        key: fleet[key] for key in fleet if key != "metadata"
    }
    assert found["metadata"]["name"] == fleet["metadata"]["name"]


def test_the_examples_are_there() -> None:
    assert EXAMPLES


def test_the_fleet_has_the_name_of_its_release(helm: Helm) -> None:
    found = render(helm, {"fleet": spec()}, "--namespace", "team", name="walker-7")["CollectorFleet"]["metadata"]
    assert (found["name"], found["namespace"]) == ("walker-7", "team")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("a" * 51, "release name: 51 characters are too many for the Ray cluster", id="long"),
        pytest.param("7up", 'release name: "7up" is not a valid name for the', id="digit"),
        pytest.param("my.run", 'release name: "my.run" is not a valid name for the', id="dot"),
    ],
)
def test_a_release_whose_name_no_fleet_can_have_is_refused_in_one_sentence(helm: Helm, name: str, words: str) -> None:
    said = refusal(helm, {"fleet": spec()}, name=name)
    assert words in said
    assert len(said.splitlines()) <= 3


def test_the_longest_name_of_a_fleet_is_taken(helm: Helm) -> None:
    longest = "a" * names.MAX_NAME_LENGTH
    assert render(helm, {"fleet": spec()}, name=longest)["CollectorFleet"]["metadata"]["name"] == longest


def test_another_name_than_the_releases_is_taken_and_checked(helm: Helm) -> None:
    found = render(helm, {"fleet": spec(), "fullnameOverride": "left", "code": {"train.py": TRAIN}}, name="9.9")
    assert found["CollectorFleet"]["metadata"]["name"] == "left"
    assert found["ConfigMap"]["metadata"]["name"].startswith("left-code-")
    said = refusal(helm, {"fleet": spec(), "fullnameOverride": "Left"})
    assert 'fullnameOverride: "Left" is not a valid name for the' in said


def test_labels_and_annotations_stand_beside_ours_and_do_not_replace_them(helm: Helm) -> None:
    labels = {"team": "walkers", "app.kubernetes.io/instance": "mine"}
    values = {"fleet": spec(), "labels": labels, "annotations": {"example.com/owner": "w"}, "code": {"a.py": TRAIN}}
    found = render(helm, values)
    for kind in ("CollectorFleet", "ConfigMap"):
        given = found[kind]["metadata"]["labels"]
        assert (given["team"], given["app.kubernetes.io/instance"]) == ("walkers", "my-run")
    assert found["CollectorFleet"]["metadata"]["annotations"] == {"example.com/owner": "w"}
