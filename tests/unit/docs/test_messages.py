"""Each message of docs/messages.md is one that the program can say."""

from __future__ import annotations

import re
from functools import cache

from tests.cluster.binaries import ROOT
from tests.messages.python_files import python_messages

PAGE = (ROOT / "docs/messages.md").read_text()


def rows() -> list[list[str]]:
    """Return the cells of each row that begins with a message."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@cache
def messages() -> str:
    """Return all messages of the program, one on each line."""
    return "\n".join(message for _, message in python_messages(ROOT))


def is_said(message: str) -> bool:
    """Return whether a message of the program has the parts of a listed message in their order."""
    pattern = ".*".join(re.escape(part.strip()) for part in message.split("…"))
    return re.search(pattern, messages()) is not None


def test_each_message_is_one_that_the_program_can_say() -> None:
    listed = [row[0].strip("`") for row in rows()]
    assert len(listed) > 25
    assert [message for message in listed if not is_said(message)] == []


def test_a_message_that_no_code_says_is_noticed() -> None:
    assert not is_said("the fleet … has gone on holiday")


def test_each_message_has_something_to_do() -> None:
    assert [row for row in rows() if len(row) != 2 or not all(row)] == []


def test_no_message_is_listed_twice() -> None:
    listed = [row[0] for row in rows()]
    assert sorted(set(listed)) == sorted(listed)
