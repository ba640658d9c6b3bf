"""Read proxies from the variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in upper or lower case."""

from __future__ import annotations

import os
import urllib.request
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import Final
from urllib.parse import unquote

from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from collectorfleet.errors import InvalidOption

_SCHEMES: Final = ("http", "https")
_PORTS: Final = {"http": 80, "https": 443}
_SUPPORTED: Final = "set a proxy that begins with http:// or https://, or add the server to NO_PROXY"


def proxy_of(url: str, where: str) -> Url | None:
    """Return the proxy that the environment sets for ``url``, or None for a direct connection.

    The function follows curl's rules. An error message begins with ``where``. Raises InvalidOption if the proxy is not
    an HTTP proxy, and LocationParseError if ``url`` has no host or no valid port.
    """
    server, proxies = parse_url(url), urllib.request.getproxies()
    scheme = server.scheme if server.scheme in proxies else "all"
    proxy = proxies.get(scheme or "")
    if not proxy or server.host is None or _is_bypassed(server.host, server.port or _PORTS.get(server.scheme or "", 0)):
        return None
    return _parsed(proxy, f"{where}: {_variable(f'{scheme}_proxy')}")


def address_of(proxy: Url) -> str:
    """Return the proxy's address without user and password."""
    return Url(proxy.scheme, None, proxy.host, proxy.port).url


def login_of(proxy: Url) -> str | None:
    """Return ``user:password`` of the proxy's address, or None if the address has no user."""
    if not proxy.auth:
        return None
    user, _, password = proxy.auth.partition(":")
    return f"{unquote(user)}:{unquote(password)}"


def _parsed(proxy: str, variable: str) -> Url:
    try:
        found = parse_url(proxy if "://" in proxy else f"http://{proxy}")
    except LocationParseError:
        # The message leaves out the cause, which quotes the password.
        raise InvalidOption(f"{variable} is not the address of a proxy; {_SUPPORTED}") from None
    if found.scheme not in _SCHEMES or not found.host:
        address = f"{found.scheme}://{found.host or ''}"
        raise InvalidOption(f"{variable} is {address}, which is not supported; {_SUPPORTED}")
    return found


def _variable(name: str) -> str:
    """Return the variable's spelling in the environment. Lower case takes precedence, as in ``getproxies``."""
    found = [one for one in os.environ if one.lower() == name]
    return name if name in found or not found else found[0]


def _is_bypassed(host: str, port: int) -> bool:
    """Return whether NO_PROXY matches the server.

    Python's own check does not support networks, or patterns such as ``*.lab``.
    """
    if urllib.request.proxy_bypass(f"{host}:{port}"):
        return True
    words = [word.strip().lower() for word in urllib.request.getproxies_environment().get("no", "").split(",")]
    return any(word == "*" or (word.startswith("*.") and host.endswith(word[1:])) for word in words) or any(
        _has_address(word, host.strip("[]")) for word in words
    )


def _has_address(network: str, host: str) -> bool:
    """Return whether ``host`` is an address in a network such as 10.0.0.0/8."""
    with suppress(ValueError):
        return ip_address(host) in ip_network(network, strict=False)
    return False
