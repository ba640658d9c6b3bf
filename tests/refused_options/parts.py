"""What several of them are made of."""

from __future__ import annotations

from types import SimpleNamespace

SHARED = SimpleNamespace(service_backend="ray")
