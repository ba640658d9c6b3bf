"""What `collectorfleet validate` says of templates that Pod Security `restricted` refuses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.manifests import fleet
from tests.pod_templates import SPECS

from collectorfleet_api.rules.advice import warnings


@pytest.mark.parametrize(("spec", "path"), SPECS.values(), ids=list(SPECS))
def test_what_a_template_loosens_is_told_with_its_place(spec: dict[str, Any], path: str | None) -> None:
    told = [one for one in warnings(fleet({"spec.ray.head.template": {"spec": spec}})) if "template" in one.field]
    first = f"spec.ray.head.template.spec.{path}" if path else None
    assert (told[0].field if told else None) == first
    assert all('Pod Security Standard "restricted"' in one.message for one in told)
