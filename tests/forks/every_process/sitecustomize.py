"""Python imports this when it starts: a program that a fork starts has Rays as the fork has them."""

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
