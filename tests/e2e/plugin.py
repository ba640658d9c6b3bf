"""``kubectl cfleet``, as a person types it beside kubectl."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cluster.client import Client

PROGRAM = Path(sys.executable).with_name("kubectl-cfleet")


def cfleet(cluster: Client, namespace: str, *words: str, within: float = 60, program: Path = PROGRAM) -> str:
    """What the plugin prints, started as kubectl starts it."""
    env = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    # Else an installed program would import the working copy.
    env.pop("PYTHONPATH", None)
    done = subprocess.run(
        [program, *words, "-n", namespace], env=env, capture_output=True, text=True, check=False, timeout=within
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
