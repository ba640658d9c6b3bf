"""Keys of ConfigMaps, as the API server takes them."""

from __future__ import annotations

import pytest

from collectorfleet_api.rules.config_map_keys import key_problem


@pytest.mark.parametrize("key", ["a", "envs.py", "-", "_", ".hidden", "a..b", "A-b_c.0", "x" * 253, 1])
def test_what_the_api_server_takes(key: object) -> None:
    assert key_problem(key) is None


@pytest.mark.parametrize("key", ["", ".", "..", "..a", "../a", "a/b", "/a", "a b", "é", "a\n", "x" * 254])
def test_what_the_api_server_refuses(key: object) -> None:
    assert "is not a valid ConfigMap key" in (key_problem(key) or "")
