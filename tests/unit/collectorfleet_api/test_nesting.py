"""Values that are nested too deeply are found, cut and named, at any depth and without recursion."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_api.nesting import MAX_LEVELS, EndOfValue, TooDeepError, check_depth, cut, decode, exceeds_depth

TEXTS = st.sampled_from(["", "a", '{"', "[[[", "}]", "\\", 'x\\"y', "ü🎈", "\n"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=30,
)


def depth_of(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth_of, inner), default=0)


def nested(levels: int, of: str = '{"a":') -> str:
    end = "}" if of.startswith("{") else "]"
    return of * (levels - 1) + end.translate({ord("}"): "{}", ord("]"): "[]"}) + end * (levels - 1)


@given(VALUES, st.integers(1, 8))
def test_the_depth_of_a_text_is_that_of_its_value(value: Any, levels: int) -> None:
    assert exceeds_depth(json.dumps(value).encode(), levels) == (depth_of(value) > levels)


@given(VALUES, st.integers(1, 8))
def test_a_text_that_was_cut_is_as_deep_as_allowed_and_otherwise_the_same(value: Any, levels: int) -> None:
    def expected(value: Any, level: int) -> Any:
        if not isinstance(value, dict | list):
            return value
        if level == levels:
            return "\0nested too deeply"
        if isinstance(value, dict):
            return {key: expected(inner, level + 1) for key, inner in value.items()}
        return [expected(inner, level + 1) for inner in value]

    assert json.loads(cut(json.dumps(value), levels)) == expected(value, 0)


@pytest.mark.parametrize("levels", [MAX_LEVELS + 1, 990, 2_000, 5_000, 100_000])
@pytest.mark.parametrize("form", ['{"a":', "["])
def test_a_value_of_any_depth_is_decoded_and_its_place_is_told(levels: int, form: str) -> None:
    text = f'{{"metadata":{{"name":"deep"}},"spec":{{"environment":{{"kwargs":{{"x":{nested(levels, form)}}}}}}}}}'
    value, path = decode(text)
    assert path is not None
    assert path.startswith("spec.environment.kwargs.x")
    assert value["metadata"] == {"name": "deep"}
    check_depth(value)
    assert decode(text.encode()) == (value, path)


def test_the_deepest_allowed_value_stays_as_it_is() -> None:
    text = nested(MAX_LEVELS)
    assert decode(text) == (json.loads(text), None)
    check_depth(json.loads(text))
    with pytest.raises(TooDeepError, match=f"nested more than {MAX_LEVELS} levels deep"):
        check_depth(json.loads(nested(MAX_LEVELS + 1)))


def test_an_answer_may_have_levels_around_its_manifests() -> None:
    text = f'{{"items":[{nested(MAX_LEVELS)}]}}'
    assert decode(text, levels=MAX_LEVELS + 2) == (json.loads(text), None)
    assert decode(text)[1] is not None


def test_the_record_of_who_wrote_which_field_may_be_deeper_than_the_fields() -> None:
    text = f'{{"metadata":{{"managedFields":[{{"fieldsV1":{nested(MAX_LEVELS)}}}]}},"spec":{{"a":1}}}}'
    value, path = decode(text)
    assert path is None
    assert value["spec"] == {"a": 1}


@given(st.lists(VALUES.filter(lambda value: isinstance(value, dict | list)), min_size=1, max_size=3), st.integers(1, 9))
def test_the_end_of_a_value_is_found_in_whatever_pieces_it_comes(values: list[Any], size: int) -> None:
    text = json.dumps(values[0])
    whole = text + "".join(f",{json.dumps(value)}" for value in values[1:])
    search, found = EndOfValue(), None
    for upto in range(0, len(whole) + size, size):
        found = search.find(whole[:upto])
        if found is not None:
            break
    assert found == len(text)
