"""The few lines that may break a rule."""

from __future__ import annotations

from collections.abc import Sequence

from tests.prose.check import Finding

MOST = 20


def without_exceptions(found: Sequence[Finding], exceptions: str) -> list[Finding]:
    """Return the findings that no line of the exceptions names.

    A line is ``PATH RULE TEXT``, where TEXT is part of the line with the finding.

    Raises:
        ValueError: There are more than 20 exceptions, or one of them excuses nothing.
    """
    lines = [line for line in exceptions.splitlines() if line and not line.startswith("#")]
    if len(lines) > MOST:
        raise ValueError(f"{len(lines)} exceptions are more than {MOST}; rewrite a sentence")
    excused: set[Finding] = set()
    for line in lines:
        path, rule, text = line.split(maxsplit=2)
        matching = {one for one in found if (one.path, one.rule) == (path, rule) and text in one.text}
        if not matching:
            raise ValueError(f"no finding needs this exception any more; delete it: {line}")
        excused |= matching
    return [one for one in found if one not in excused]
