"""Define the type of objects in requests to the API server, and in its answers."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
