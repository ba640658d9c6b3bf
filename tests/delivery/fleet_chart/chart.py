"""The fleet's chart as its users render it: values in, Kubernetes objects out."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.delivery.helm import CHARTS, Helm, HelmError

from collectorfleet_api.manifests.yaml_reader import read_documents
from collectorfleet_api.v1alpha1.base import whole_floats_to_int

Values = Mapping[str, Any] | str

CHART = CHARTS / "collectorfleet"
CI = sorted((CHART / "ci").glob("*-values.yaml"))
RELEASE = "my-run"
TRAIN = "x = 1\n"


def spec(**changes: Any) -> dict[str, Any]:
    """Of a small fleet; each change is a field of the spec."""
    return {
        "image": "ghcr.io/you/cheetah:1.0",
        "environment": {"factory": "my_envs:make_env"},
        "policy": {"factory": "my_policy:make_actor"},
        "driver": {"train": {"function": "my_train:train"}},
        "collection": {"framesPerBatch": 4000},
        **changes,
    }


def values_file(helm: Helm, values: Values) -> Path:
    """Values, as an object or as YAML, in a file."""
    text = values if isinstance(values, str) else json.dumps(values)
    with tempfile.NamedTemporaryFile("w", dir=helm.home, suffix=".yaml", delete=False) as file:
        file.write(text)
    return Path(file.name)


def render(helm: Helm, values: Values, *words: str | Path, name: str = RELEASE) -> dict[str, Any]:
    """The objects of a release by kind, read as the API server reads them."""
    return by_kind(helm("template", name, CHART, "-f", values_file(helm, values), *words))


def refusal(helm: Helm, values: Values, *words: str | Path, name: str = RELEASE) -> str:
    """What helm says of values that it does not render. There is no cluster that it could have asked."""
    try:
        rendered = render(helm, values, *words, name=name)
    except HelmError as error:
        return str(error)
    raise AssertionError(f"rendered, and should have been refused: {rendered}")


def by_kind(manifests: str) -> dict[str, Any]:
    """Objects by kind; each kind once."""
    found = [whole_floats_to_int(document.content) for document in read_documents(manifests)]
    kinds = {obj["kind"]: obj for obj in found}
    assert len(kinds) == len(found), f"a kind stands twice in {[obj['kind'] for obj in found]}"
    return kinds
