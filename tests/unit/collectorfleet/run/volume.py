"""A real volume of 1 MB for a program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def on_a_volume_of_1_mb(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a mount namespace of its own, which ends with the program; its argument is the volume's folder."""
    mounted = 'mount -t tmpfs -o size=1m none "$0" && exec "$1" -c "$2" "$0"'
    words = ["unshare", "--map-root-user", "--mount", "sh", "-c", mounted, str(folder), sys.executable, program]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env, timeout=120)
