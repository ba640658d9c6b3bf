"""HTTP as all fetching of code needs it: patient with networks, and plain about what a server refuses.

What may pass is tried again here, for a quarter of a minute, and by Kubernetes after that.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Collection, Mapping
from contextlib import suppress
from http import HTTPStatus
from ipaddress import ip_address, ip_network
from typing import IO, Any, Final
from urllib.parse import unquote, urlsplit

import urllib3
from urllib3.exceptions import HTTPError, MaxRetryError
from urllib3.util import make_headers

from collectorfleet.errors import InfrastructureError, InvalidOption
from collectorfleet.run.code.bounds import Bounds

_SILENT_SECONDS: Final = 30  # without a byte
_TRIES_AGAIN: Final = 4
_BACKOFF_SECONDS: Final = 1  # doubled each time
_CHUNK: Final = 2**20
_REFUSED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_PASSES: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
_USER_ERRORS: Final = range(400, 500)
_PROXY_SCHEMES: Final = ("http", "https")


class Web:
    """Asks one server, and those that it sends us on to, which see no credentials of ours.

    Args:
        url: an address there; proxies of the environment are gone by.
        where: what is fetched; begins every sentence.
        refused: what to do where the server refuses us.
        headers: go with every request.
    """

    def __init__(self, url: str, where: str, refused: str = "", headers: Mapping[str, str] | None = None) -> None:
        self.where = where
        self.headers = dict(headers or {})
        self._refused = refused
        self._pool = _pool(url, where)

    def request(
        self, method: str, url: str, *, taken: Collection[int] = (), **options: Any
    ) -> urllib3.BaseHTTPResponse:
        """The server's answer, of status 200 or one of those ``taken``; ``options`` are urllib3's.

        Raises InvalidOption where it would answer the same again, InfrastructureError otherwise.
        """
        try:
            answer = self._pool.request(method, url, **options)
        except HTTPError as error:
            raise self.unreachable(error) from error
        status = answer.status
        if status == HTTPStatus.OK or status in taken:
            return answer
        answer.close()
        sentence = f"{self.where}: {status} {answer.reason}"
        if status in _REFUSED and self._refused:
            raise InvalidOption(f"{sentence}; {self._refused}")
        if status in _USER_ERRORS and status not in _PASSES:
            raise InvalidOption(sentence)
        raise InfrastructureError(sentence)

    def download(self, url: str, file: IO[bytes], bounds: Bounds, headers: Mapping[str, str] | None = None) -> None:
        """Write what is at ``url`` into ``file``. Raises as ``request`` does, and InvalidOption beyond the bounds."""
        answer = self.request("GET", url, headers={**self.headers, **(headers or {})}, preload_content=False)
        try:
            # What the server may say of an encoding is about the file, whose bytes are asked for.
            for chunk in answer.stream(_CHUNK, decode_content=False):
                bounds.fetch(len(chunk))
                file.write(chunk)
        except HTTPError as error:
            raise self.unreachable(error) from error
        finally:
            answer.close()

    def unreachable(self, error: HTTPError) -> InfrastructureError:
        """What an error of the network is for a run."""
        cause = error.reason if isinstance(error, MaxRetryError) and error.reason else error
        return InfrastructureError(f"{self.where}: not reachable: {cause}")


def _pool(url: str, where: str) -> urllib3.PoolManager:
    options: dict[str, Any] = {
        "timeout": urllib3.Timeout(connect=_SILENT_SECONDS, read=_SILENT_SECONDS),
        "retries": urllib3.Retry(
            total=_TRIES_AGAIN,
            backoff_factor=_BACKOFF_SECONDS,
            # What we post asks for data, and changes none.
            allowed_methods=None,
            status_forcelist=[status for status in HTTPStatus if status >= HTTPStatus.INTERNAL_SERVER_ERROR],
            raise_on_status=False,
            retry_after_max=_SILENT_SECONDS,
        ),
    }
    proxy = _proxy(url, where)
    if proxy is None:
        return urllib3.PoolManager(**options)
    user = urlsplit(proxy)
    password = f"{unquote(user.username)}:{unquote(user.password or '')}" if user.username else None
    return urllib3.ProxyManager(proxy, proxy_headers=make_headers(proxy_basic_auth=password), **options)


def _proxy(url: str, where: str) -> str | None:
    """Return the proxy that the environment has for ``url``, as curl reads it; None if it has none.

    Raises InvalidOption where it is none for HTTP.
    """
    address, proxies = urlsplit(url), urllib.request.getproxies()
    server = address.netloc.rpartition("@")[2]
    scheme = address.scheme if proxies.get(address.scheme) else "all"
    proxy = proxies.get(scheme)
    if not proxy or urllib.request.proxy_bypass(server) or _is_in_network(address.hostname or ""):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    found = urlsplit(proxy)
    if found.scheme not in _PROXY_SCHEMES or not found.hostname:
        raise InvalidOption(
            f"{where}: {scheme.upper()}_PROXY is {found.scheme}://{found.hostname or ''}, which is not supported; set "
            "a proxy that begins with http:// or https://, or add the server to NO_PROXY"
        )
    return proxy


def _is_in_network(host: str) -> bool:
    """Whether NO_PROXY has a network, such as 10.0.0.0/8, that this address is in. Python itself compares names."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    for word in urllib.request.getproxies_environment().get("no", "").split(","):
        with suppress(ValueError):
            if address in ip_network(word.strip(), strict=False):
                return True
    return False
