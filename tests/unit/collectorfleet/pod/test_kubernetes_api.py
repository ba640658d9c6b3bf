"""What a driver makes of answers that are no objects, on a server of this process."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from kubernetes.aio.dynamic import DynamicClient
from tests.unit import played_answers
from tests.unit.collectorfleet.pod.played_api import SETTINGS
from tests.unit.played_answers import Answer, says

from collectorfleet.pod.access import Access
from collectorfleet.pod.kubernetes_api import FleetApi
from collectorfleet.pod.outage import TRANSIENT

Ask = Callable[[FleetApi], Awaitable[Any]]
STORED = {"kind": "Lease", "apiVersion": "v1", "metadata": {"name": "it", "uid": "u-1", "resourceVersion": "7"}}
REQUESTS: list[Ask] = [
    FleetApi.fleet,
    lambda api: api.apply_status({}),
    FleetApi.lease,
    lambda api: api.patch_lease({"spec": {}}),
    FleetApi.timeline,
    lambda api: api.patch_timeline("AAAA"),
]
NAMES = ["fleet", "status", "Lease", "renewal", "timeline", "written timeline"]


def asked(ask: Ask, answer: Answer) -> Any:
    return played_answers.asked(lambda api: ask(FleetApi(DynamicClient(api), SETTINGS, Access(lambda: None))), answer)


@pytest.mark.parametrize("ask", REQUESTS, ids=NAMES)
def test_an_object_is_the_answer(ask: Ask) -> None:
    assert asked(ask, says(json.dumps(STORED))) == STORED


@pytest.mark.parametrize(
    "body",
    ["", "<html>", "null", "[]", "{}", '{"kind":"Status","metadata":{}}', '{"kind":"Lease","metadata":7}'],
    ids=["empty", "a page", "null", "a list", "nothing in it", "no identity", "odd metadata"],
)
def test_an_answer_that_is_no_object_is_like_a_failed_request(body: str) -> None:
    with pytest.raises(TRANSIENT, match="the API server's answer is not an object"):
        asked(FleetApi.lease, says(body))


@pytest.mark.parametrize("ask", REQUESTS, ids=NAMES)
def test_every_request_checks_its_answer(ask: Ask) -> None:
    with pytest.raises(TRANSIENT):
        asked(ask, says("{}"))


def test_the_page_of_a_proxy_is_like_a_failed_request() -> None:
    with pytest.raises(TRANSIENT):
        asked(FleetApi.lease, says("<html>Log in</html>", headers={"Content-Type": "text/html"}))
