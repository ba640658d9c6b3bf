"""Objects as the API server sends and takes them."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
