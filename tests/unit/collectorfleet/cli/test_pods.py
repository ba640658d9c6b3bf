"""``collectorfleet validate`` on pod templates: ``tests/integration/test_pod_templates.py`` asks a real API server."""

from __future__ import annotations

import pytest
from tests.corpus import ACCEPTED, REFUSED, Case, fleet_of

from collectorfleet.cli.pods import pod_problems


@pytest.mark.parametrize("case", ACCEPTED.values(), ids=ACCEPTED)
def test_a_template_that_the_api_server_takes_has_no_problem(case: Case) -> None:
    assert list(map(str, pod_problems(fleet_of(case)))) == []


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_template_that_the_api_server_refuses_has_one_problem_with_its_path(case: Case) -> None:
    assert list(map(str, pod_problems(fleet_of(case)))) == [f"{case.of}.{case.problem}"]
