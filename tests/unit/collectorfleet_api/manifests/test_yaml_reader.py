"""What kubectl v1.34 makes of unquoted words; tests/integration/test_crd_yaml.py asks kubectl itself."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.collectorfleet_api.test_nesting import depth_of

from collectorfleet_api.manifests.yaml_reader import Document, YamlError, plain_value, read_documents
from collectorfleet_api.nesting import MAX_LEVELS

WORDS: dict[str, Any] = {
    "1e-3": 0.001,
    "3e-4": 0.0003,
    "1e6": 1e6,
    "12e03": 12e3,
    ".5": 0.5,
    "1.": 1.0,
    "-.5": -0.5,
    "+.5": 0.5,
    "1.e+3": 1000.0,
    "010": 8,
    "08": 8.0,
    "0777": 511,
    "0o17": 15,
    "0x1F": 31,
    "-0x10": -16,
    "0b11": 3,
    "1_000": 1000,
    "1_000.5": 1000.5,
    "_1": "_1",
    "+1": 1,
    "9223372036854775807": 2**63 - 1,
    "9223372036854775808": float(2**63),
    "1:30": "1:30",
    "190:20:30": "190:20:30",
    "2024-01-01": "2024-01-01",
    "0x1p3": "0x1p3",
    "1E400": "1E400",
    "yes": True,
    "y": True,
    "On": True,
    "off": False,
    "n": False,
    "~": None,
    "null": None,
    "nUll": "nUll",
    "nan": "nan",
    "=": "=",
    ".": ".",
    "+": "+",
    "-": "-",
    "²": "²",
    "9" * 400: "9" * 400,
    "0x" + "f" * 5000: "0x" + "f" * 5000,
}


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word[:20])
def test_an_unquoted_word_means_what_kubectl_takes_it_for(word: str) -> None:
    found = plain_value(word)
    assert found == WORDS[word]
    assert type(found) is type(WORDS[word])


def only(text: str) -> Document:
    (found,) = read_documents(text)
    return found


def test_quotes_make_text_of_everything() -> None:
    assert only("""{a: "1", b: 'yes', c: !!str 1}""").content == {"a": "1", "b": "yes", "c": "1"}


def test_merged_mappings_give_way_to_own_keys() -> None:
    found = only("base: &base {a: 1, b: 2}\nown:\n  b: 3\n  <<: *base\n")
    assert found.content["own"] == {"a": 1, "b": 3}
    assert found.problems == []


def test_a_key_that_is_read_as_true_or_false_is_a_problem() -> None:
    found = only("kwargs: {n: 4}")
    assert found.content == {"kwargs": {"false": 4}}
    assert [str(p) for p in found.problems] == ['kwargs.false: the key "n" is read as false; put the key in quotes']


def test_infinity_is_a_problem_because_json_has_none() -> None:
    found = only("a: .inf")
    assert [str(p) for p in found.problems] == [
        "a: .inf is a number that JSON does not have; put it in quotes, and convert the text in your code"
    ]


def test_the_line_of_something_absent_is_that_of_what_is_around_it() -> None:
    found = only("spec:\n  list:\n  - a: 1\n  - b: 1\n")
    assert found.line_of("spec.list[1].b") == 4
    assert found.line_of("spec.list[1].c.d") == 4
    assert found.line_of("spec.other") == 1
    assert found.line_of("") == 1


def test_the_line_of_an_odd_key_is_found_at_once() -> None:
    found = only("spec:\n  list: 1\n")
    assert found.line_of("spec.list.a]") == 2
    assert found.line_of(f"spec.list.{'a' * 4_000_000}.b") == 2  # with backtracking, hours


def test_empty_documents_are_left_out() -> None:
    assert [d.content for d in read_documents("---\n# nothing\n---\na: 1\n---\n")] == [{"a": 1}]


def test_a_list_that_contains_itself_is_refused() -> None:
    with pytest.raises(YamlError, match="part of its own anchor"):
        only("a: &a [*a]")


FLOW, BLOCK = "{a: " * 5_000 + "1" + "}" * 5_000, "\n".join(" " * level + "a:" for level in range(2_000))
ALIASES = "\n".join(["b0: &b0 1", *(f"b{n}: &b{n} [[[[[[[[*b{n - 1}]]]]]]]]" for n in range(1, 400))])


@pytest.mark.parametrize("text", [FLOW, BLOCK, ALIASES, "[" * 100_000], ids=["flow", "block", "aliases", "open"])
def test_a_document_that_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(
        YamlError,
        match=r"^nested more than 128 levels deep; flatten the value, or pass the value as "
        r"JSON text$",
    ):
        only(text)


def test_a_document_may_be_nested_twice_as_deeply_as_a_fleet() -> None:
    levels = 2 * MAX_LEVELS
    assert depth_of(only("[" * levels + "1" + "]" * levels).content) == levels


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{each}: &{each} [{', '.join([f'*{before}'] * 9)}]\n" for before, each in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {" + ", ".join(f"k{n}: x" for n in range(100)) + "}\n" + "b:\n" + "- <<: *a\n" * 200


@pytest.mark.parametrize(("text", "line"), [(LAUGHS, 5), (MERGES, 3)], ids=["aliases of aliases", "merges"])
def test_aliases_that_make_too_many_values_are_refused_at_once(text: str, line: int) -> None:
    with pytest.raises(YamlError, match=r"^aliases \(\*\) repeat more than 10,000 values") as refused:
        only(text)
    assert refused.value.line == line


def test_an_alias_may_be_used_in_many_places() -> None:
    assert only("a: &a {k: v}\nb: [" + "*a, " * 2_000 + "]").content["b"] == [{"k": "v"}] * 2_000


def test_a_file_of_too_many_values_is_refused_with_the_line() -> None:
    with pytest.raises(YamlError, match=r"^more than 50,000 values; split the file$") as refused:
        list(read_documents("".join(f"[{'1,' * 999}]\n---\n" for _ in range(60))))
    assert refused.value.line == 101


@pytest.mark.parametrize("text", ["a:\n  b: {{ .Values.image }}", "a:\n  [b]: c"], ids=["mapping", "list"])
def test_a_key_that_is_no_word_is_refused(text: str) -> None:
    with pytest.raises(
        YamlError, match=r"^a (mapping|list) cannot be a key; quote text that begins with \{ or \[$"
    ) as refused:
        only(text)
    assert refused.value.line == 2


@pytest.mark.parametrize(
    "text",
    ['a: 1\nb: "\\U00110000"', 'a: 1\nb: "\\UFFFFFFFF"', f"# a\n%YAML {'1' * 5000}.1\n---\na: 1"],
    ids=["after the last character", "beyond all integers", "version"],
)
def test_a_number_that_is_too_large_for_yaml_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(YamlError, match=r"an escape such as .* or the version in %YAML is too high") as refused:
        list(read_documents(text))
    assert refused.value.line == 2


@pytest.mark.parametrize(
    "text", [r'a: "\ud83d"', r'{"a": "\ud83d"}', r'{"a": "\ude00\ud83d"}', r'{"a": "\ud83dx\ude00"}']
)
def test_half_of_a_character_is_a_problem(text: str) -> None:
    found = only(text)
    assert [str(problem) for problem in found.problems] == [
        "a: half of a character (a surrogate) is not text; write the whole character"
    ]


def test_json_writes_a_character_as_two_escapes() -> None:
    found = only(' {"\\ud83d\\ude00": "\\ud83d\\ude00 1 \\u00e9", "b": ["\U0001f600"]}\n')
    assert (found.content, found.problems) == ({"\U0001f600": "\U0001f600 1 \u00e9", "b": ["\U0001f600"]}, [])
    assert found.line_of("b[0]") == 1
    several = list(read_documents("\n---\n".join([r'{"a": "\ud83d\ude00"}'] * 2)))
    assert [one.content for one in several] == [{"a": "\U0001f600"}] * 2


@pytest.mark.parametrize("text", [r'a: "\ud83d\ude00"', r'{a: "\ud83d\ude00"}', '# JSON\n{"a": "\\ud83d\\ude00"}'])
def test_yaml_has_one_escape_for_a_character(text: str) -> None:
    """Go's reader of YAML, which kubectl uses, refuses the halves."""
    assert [str(problem) for problem in only(text).problems] == [
        "a: two escapes for one character (surrogates) are valid only in JSON; write the character"
    ]


def test_only_mappings_are_merged() -> None:
    assert [str(p) for p in only("a:\n  <<: 1").problems] == [
        "a: << merges only mappings, and this is not a mapping; name a mapping with *"
    ]


@given(st.text() | st.text(alphabet="ab:-[]{}&*<!| \n'\"#"))
def test_any_text_is_read_or_refused_and_never_breaks_the_reader(text: str) -> None:
    with contextlib.suppress(YamlError):
        list(read_documents(text))
