"""templates/code.yaml: the ConfigMap of the files that are given with --set-file."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from tests.delivery.fleet_chart.chart import RELEASE, TRAIN, refusal, render, spec
from tests.delivery.helm import Helm

ODD_TEXTS = {
    "plain.py": "import math\n\n\ndef train():\n    return '''\n---\n'''\n",
    "no_end.py": "x = 1",
    "empty.py": "",
    "blank.py": "\n\n",
    "indented.py": "    x = 1\n  y = 2\n",
    "tabs.py": "if x:\n\ty = 1\n",
    "trailing.py": "x = 1   \n   \n",
    "windows.py": "a = 1\r\nb = 2\r\n",
    "braces.py": 'x = "{{ .Values.fleet }}"\n',
    "letters.py": "# µ ☃\n",
    "looks_like_yaml.py": "on",
    "looks_like_a_number.py": "1e7",
}


def code_of(helm: Helm, code: dict[str, Any], **fleet: Any) -> dict[str, Any]:
    found = render(helm, {"fleet": spec(**fleet), "code": code})
    assert found["CollectorFleet"]["spec"] == spec(**fleet) | {"code": {"configMap": name_of(found["ConfigMap"])}}
    return dict(found["ConfigMap"])


def name_of(obj: dict[str, Any]) -> str:
    return str(obj["metadata"]["name"])


def test_files_become_a_config_map_that_the_spec_names(helm: Helm, tmp_path: Path) -> None:
    for name, text in ODD_TEXTS.items():
        (tmp_path / name).write_bytes(text.encode())
    words = [f"--set-file=code.{name.replace('.', chr(92) + '.')}={tmp_path / name}" for name in ODD_TEXTS]
    found = render(helm, {"fleet": spec()}, *words)
    assert found["ConfigMap"]["data"] == ODD_TEXTS
    assert found["CollectorFleet"]["spec"]["code"] == {"configMap": name_of(found["ConfigMap"])}


def test_texts_in_a_file_of_values_arrive_as_they_are(helm: Helm) -> None:
    assert code_of(helm, ODD_TEXTS)["data"] == ODD_TEXTS


def test_the_name_follows_from_the_content_and_from_nothing_else(helm: Helm) -> None:
    digest = hashlib.sha256(b'{"train.py":"x = 1\\n"}').hexdigest()
    named = name_of(code_of(helm, {"train.py": TRAIN}))
    assert named == f"{RELEASE}-code-{digest[:10]}"
    assert name_of(code_of(helm, {"train.py": TRAIN}, image="another:1")) == named
    for other in ({"train.py": "x = 2\n"}, {"main.py": TRAIN}, {"train.py": TRAIN, "envs.py": ""}):
        assert name_of(code_of(helm, other)) != named


def test_what_a_name_says_cannot_be_changed_under_it_and_stays_while_a_run_may_need_it(helm: Helm) -> None:
    found = code_of(helm, {"train.py": TRAIN})
    assert found["immutable"] is True
    assert found["metadata"]["annotations"] == {
        "helm.sh/resource-policy": "keep",
        "argocd.argoproj.io/sync-options": "Prune=false",
        "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
    }
    assert found["metadata"]["labels"]["app.kubernetes.io/component"] == "code"


def test_code_of_a_config_map_that_is_already_there_is_named_by_the_spec(helm: Helm) -> None:
    given = spec(code={"configMap": "theirs"})
    assert render(helm, {"fleet": given}) == {"CollectorFleet": render(helm, {"fleet": given})["CollectorFleet"]}
    assert render(helm, {"fleet": given})["CollectorFleet"]["spec"] == given


def test_both_kinds_of_code_are_refused_in_one_sentence(helm: Helm) -> None:
    said = refusal(helm, {"fleet": spec(code={"configMap": "theirs"}), "code": {"train.py": TRAIN}})
    assert "two values give the fleet its code: fleet.code and code; remove one of them" in said


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param({"train": {"py": TRAIN}}, r"code\.train: map is not the text of a file.*escape the dot", id="dot"),
        pytest.param({"train.py": 3}, r"code\.train\.py: \w+ is not the text of a file", id="number"),
        pytest.param({"envs/walk.py": TRAIN}, r"envs/walk\.py", id="folder"),
    ],
)
def test_what_is_no_file_of_a_config_map_is_refused_by_name(helm: Helm, code: dict[str, Any], words: str) -> None:
    assert re.search(words, refusal(helm, {"fleet": spec(), "code": code}), re.DOTALL)
