"""What the API server answers, by what can be done about it."""

from __future__ import annotations

import json

import pytest

from collectorfleet_operator.edge import errors


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [
        (404, None, errors.NotServedError),
        (404, 'collectorfleets "x" not found', errors.NotFoundError),
        (409, "conflict", errors.ConflictError),
        (403, "exceeded quota", errors.RefusedError),
        (422, "name must be no more than 63 characters", errors.RefusedError),
        (429, "too many requests", errors.UnavailableError),
        (503, "etcd is away", errors.UnavailableError),
        (500, "failed to create typed patch object: .status.phaze: field not declared in schema", errors.RefusedError),
    ],
)
def test_an_error_says_what_can_be_done(status: int, message: str | None, error: type[errors.KubeError]) -> None:
    body = json.dumps({"kind": "Status", "message": message}) if message else "404 page not found\n"
    found = errors.from_answer("apply X", status, body)
    assert isinstance(found, error)
    assert (message or "404 page not found") in str(found)


def test_a_field_that_the_crd_does_not_know_is_named() -> None:
    message = '.status.conditions[type="Ready"].colour: field not declared in schema'
    found = errors.from_answer("apply X", 500, json.dumps({"message": message}))
    assert isinstance(found, errors.UndeclaredFieldError)
    assert found.path == '.status.conditions[type="Ready"].colour'


@pytest.mark.parametrize("character", [".", "[", "a", ".a"])
def test_a_long_value_that_the_api_server_quotes_does_not_delay_the_operator(character: str) -> None:
    quoted = character * 3_000_000  # with backtracking, hours
    message = f'spec.template.spec.hostname: Invalid value: "{quoted}": a lowercase RFC 1123 label must consist of'
    found = errors.from_answer("create X", 422, json.dumps({"kind": "Status", "message": message}))
    assert type(found) is errors.RefusedError
