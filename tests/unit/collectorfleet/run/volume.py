"""A real volume of 1 MB for a program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def on_a_volume_of_1_mb(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run ``program`` in Python, with a volume of 1 MB mounted at ``folder``. The volume ends with the program.

    ``sys.argv[1]`` of the program is the folder. If this machine cannot mount the volume, the test is skipped.
    """
    mount = 'mount -t tmpfs -o size=1m none "$0"'
    in_namespace = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    tried = subprocess.run([*in_namespace, mount, str(folder)], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"left out: this machine cannot mount a separate volume: {tried.stderr.strip()}")
    words = [*in_namespace, f'{mount} && exec "$1" -c "$2" "$0"', str(folder), sys.executable, program]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env, timeout=120)
