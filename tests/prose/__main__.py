"""``python -m tests.prose``: print each finding with its line and a suggestion, and fail if there is one."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cluster import binaries
from tests.prose.check import findings
from tests.prose.exceptions import without_exceptions

EXCEPTIONS = Path(__file__).parent / "exceptions.txt"


def main() -> int:
    if reason := binaries.missing([binaries.VALE]):
        print(f"left out the check of prose: {reason}")
        return 0
    found = findings(binaries.build(binaries.VALE) / "vale", binaries.ROOT)
    try:
        left = without_exceptions(found, EXCEPTIONS.read_text())
    except ValueError as wrong:
        print(f"error: {EXCEPTIONS.relative_to(binaries.ROOT)}: {wrong}", file=sys.stderr)
        return 1
    for finding in left:
        print(finding)
    print(f"{len(left)} findings" if left else "No findings.")
    return bool(left)


if __name__ == "__main__":
    sys.exit(main())
