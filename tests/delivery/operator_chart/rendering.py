"""What the tests of the operator's chart render, and how they find an object in it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.delivery.helm import CHARTS, Helm

Object = dict[str, Any]

CHART = CHARTS / "collectorfleet-operator"
CI_VALUES = sorted((CHART / "ci").glob("*-values.yaml"))
RELEASE, NAMESPACE = "release", "here"
# Of a release of that name.
FULL_NAME = "release-collectorfleet-operator"


def rendered(helm: Helm, *words: str, **values: Any) -> list[Object]:
    """The objects of a release in the namespace ``here``; ``values`` replace whole parts of the chart's."""
    return helm.template(CHART, "--namespace", NAMESPACE, *words, *as_words(values), name=RELEASE)


def as_words(values: dict[str, Any]) -> Iterable[str]:
    return [word for key, value in values.items() for word in ("--set-json", f"{key}={json.dumps(value)}")]


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    return [one for one in objects if one["kind"] == kind]


def only(objects: list[Object], kind: str) -> Object:
    """The one object of that kind."""
    (found,) = of_kind(objects, kind)
    return found


def pod(objects: list[Object]) -> Object:
    """The template of the operator's pod."""
    found: Object = only(objects, "Deployment")["spec"]["template"]
    return found


def container(objects: list[Object]) -> Object:
    (found,) = pod(objects)["spec"]["containers"]
    return dict(found)
