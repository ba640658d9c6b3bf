"""JSON that anybody may have changed is a value or a ValueError."""

from __future__ import annotations

import pytest

from collectorfleet.stored_json import parse_json


def test_json_is_its_value() -> None:
    assert parse_json(b'{"a": [1, 2.5, null, "b"]}') == {"a": [1, 2.5, None, "b"]}


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff", b"{", "[" * 100_000, "1e999", "-1e999", "NaN", "Infinity", "1" * 5000],
    ids=["empty", "no text", "half", "deep", "infinite", "below all", "nan", "infinity", "digits"],
)
def test_any_other_content_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)
