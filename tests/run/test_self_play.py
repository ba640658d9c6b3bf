"""The example of two policies that learn from each other, as a person runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.cluster.binaries import ROOT

SCRIPT = ROOT / "examples/self_play/self_play.py"


def test_two_policies_that_only_play_each_other_learn_to_beat_who_moves_at_random(short_tmp: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--frames", "20000"],
        env={**os.environ, "PYTHONPATH": f"{ROOT}/crds:{ROOT}/collector_image", "RAY_TMPDIR": str(short_tmp)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "20000 frames x " in done.stdout
    found = re.findall(r"^([xo]) against random moves: wins ([\d.]+)%, loses ([\d.]+)%$", done.stdout, re.MULTILINE)
    wins = {player: float(part) for player, part, _ in found}
    # Untrained, x wins half of its games and o a third.
    assert wins["x"] > 75
    assert wins["o"] > 55
