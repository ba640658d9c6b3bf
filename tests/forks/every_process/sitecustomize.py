"""Change Ray in each Python process that a fork starts, as in the fork. Python imports this module at its start."""

from __future__ import annotations

import os
import sys

ROOT = os.path.abspath(f"{os.path.dirname(os.path.abspath(__file__))}/../../..")

sys.path.insert(0, ROOT)
try:
    from tests.forks import environments, ray_workers

    if environments.ENV_SOCKET in os.environ:
        ray_workers.use_in_fork()
finally:
    sys.path.remove(ROOT)
