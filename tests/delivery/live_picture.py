"""Draw the table that `collectorfleet run` shows: ``python -m tests.delivery.live_picture docs/live.svg``.

It runs the example on a terminal of its own, and draws the last table that was shown while all collectors were ready.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from rich.ansi import AnsiDecoder
from rich.console import Console
from tests.cluster.binaries import ROOT

EXAMPLE = "examples/cartpole.yaml"
COMMAND = f"collectorfleet run {EXAMPLE}"
COLUMNS, LINES = 100, 30
# Rich goes up a line and erases it, for each line of the table before.
REDRAWN = re.compile(rb"(?:\r?\x1b\[2K|\x1b\[1A)+")
ALL_READY = b"2/2"


def shown(command: list[str]) -> bytes:
    """What ``command`` writes to a terminal until it ends."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    with subprocess.Popen(command, cwd=ROOT, env=env, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        written = io.BytesIO()
        while chunk := _read(ours):
            written.write(chunk)
    os.close(ours)
    assert process.returncode == 0, written.getvalue().decode(errors="replace")
    return written.getvalue()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the last process that had it has ended
        return b""


def last_table(written: bytes) -> str:
    tables = [part for part in REDRAWN.split(written) if ALL_READY in part and b"Ready" in part]
    return tables[-1].decode().replace("\r", "")


def draw(table: str) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in AnsiDecoder().decode(table):
        console.print(line)
    drawn = console.export_svg(title=COMMAND)
    # Whoever reads the page asks no other host for a font.
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL).replace("Fira Code, monospace", "monospace")


def main(path: Path) -> None:
    table = last_table(shown([str(Path(sys.executable).with_name("collectorfleet")), "run", EXAMPLE]))
    path.write_text(draw(table), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
