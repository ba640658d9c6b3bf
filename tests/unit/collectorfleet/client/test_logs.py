"""Whose a line of a driver's log is."""

from __future__ import annotations

import pytest

from collectorfleet.client.logs import LogLine, line, read_lines


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"2026-01-01 completed: x", LogLine("driver", "2026-01-01 completed: x")),
        (b"(c0 pid=71, ip=10.1.0.3) hello", LogLine("c0", "hello")),
        (b"\x1b[36m(c12 pid=71)\x1b[0m hello", LogLine("c12", "hello")),
        (b"(c0 pid=71) ", LogLine("c0", "")),
        (b"(not an actor) hello", LogLine("driver", "(not an actor) hello")),
        (b"caf\xe9", LogLine("driver", "caf\ufffd")),
    ],
)
def test_a_line_is_of_who_printed_it(raw: bytes, found: LogLine) -> None:
    assert line(raw) == found


def test_lines_arrive_in_pieces() -> None:
    assert [one.text for one in read_lines([b"a\nb", b"c\n", b"d"])] == ["a", "bc", "d"]
