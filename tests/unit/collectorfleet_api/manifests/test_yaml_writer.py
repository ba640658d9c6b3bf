"""What is written is read as it was, by us as by kubectl."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.example_count import examples

from collectorfleet_api.manifests.yaml_reader import read_documents
from collectorfleet_api.manifests.yaml_writer import to_yaml

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
)


@pytest.mark.parametrize(
    "word", ["3e-4", "1e3", "0o17", "1_000", "1:30", "yes", "null", "", "2026-11-23", "a\nb\n", "0x1F"]
)
def test_text_stays_text(word: str) -> None:
    (read,) = read_documents(to_yaml({"args": [word], word or "empty": 1}))
    assert read.content == {"args": [word], word or "empty": 1}


@settings(max_examples=examples(20))
@given(st.dictionaries(TEXT, JSON, min_size=1))
def test_what_is_written_is_read_as_it_was(value: dict[str, Any]) -> None:
    (read,) = read_documents(to_yaml(value))
    assert (read.content, read.problems) == (value, [])


@pytest.mark.parametrize("text", ["\u202ereversed", "zero\u200bwidth", "two\nlines\x1b[2J", "\ufeff", "tab\tand\nline"])
def test_no_character_that_is_not_printable_is_written(text: str) -> None:
    written = to_yaml({"a": text, "b": "r\u00e9ward"})
    assert {one for one in written if not one.isprintable()} <= {"\n", "\t"}
    assert "b: r\u00e9ward\n" in written
    (read,) = read_documents(written)
    assert read.content["a"] == text


@pytest.mark.parametrize("text", ["\u65e5\u672c\u3000\u8a9e", "5\u202fPM", "\U0001f469\u200d\U0001f4bb", "a\u00a0b\nc"])
def test_spaces_and_joiners_of_other_scripts_are_written_as_they_are(text: str) -> None:
    written = to_yaml({"a": text})
    assert all(line in written for line in text.splitlines())
    (read,) = read_documents(written)
    assert read.content["a"] == text


def test_what_stands_twice_is_written_twice() -> None:
    same = {"cpu": "1"}
    assert to_yaml({"a": same, "b": same}) == "a:\n  cpu: '1'\nb:\n  cpu: '1'\n"
