"""Make HTTP requests that fetch code: retry temporary failures, and report clearly if a server refuses.

Temporary failures are retried here for about 15 s. After that, Kubernetes retries.
"""

from __future__ import annotations

import ssl
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import IO, Any, Final

import urllib3
from urllib3.exceptions import HTTPError, MaxRetryError, PoolError, ProxyError
from urllib3.util import Url, make_headers

from collectorfleet.errors import CollectorFleetError, InfrastructureError, InvalidOption
from collectorfleet.run.code.bounds import Bounds
from collectorfleet.run.code.proxies import address_of, login_of, proxy_of

_SILENT_SECONDS: Final = 30  # the longest time without a byte from the server
_TRIES_AGAIN: Final = 4
_BACKOFF_SECONDS: Final = 1  # doubled with each retry
_CHUNK: Final = 2**20
_REFUSED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_PASSES: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
_USER_ERRORS: Final = range(400, 500)
# OpenSSL's codes for a self-signed certificate and for an unknown issuer.
_UNKNOWN_AUTHORITY: Final = (2, 18, 19, 20, 21)


class Web:
    """A client of one server. It follows redirects, and sends no credentials to other servers.

    Requests use the proxies of the environment.

    Args:
        where: the source of the code; each message begins with this text.
        refused: the remedy that the message names if the server refuses access.
        headers: default headers, for :meth:`download` and dulwich. :meth:`request` does not add them.
        tls: the TLS context. Default: trust the certificate authorities of the system.
    """

    def __init__(
        self,
        where: str,
        refused: str = "",
        headers: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.where = where
        self.headers = dict(headers or {})
        self._refused = refused
        self._pools = _Pools(where, tls)

    def request(
        self, method: str, url: str, *, taken: Collection[int] = (), **options: Any
    ) -> urllib3.BaseHTTPResponse:
        """Return the server's answer with status 200 or a status in ``taken``. ``options`` are options of urllib3.

        Raises InvalidOption if a retry would get the same answer, and InfrastructureError for other failures.
        """
        try:
            answer = self._pools.of(url).request(method, url, **options)
        except HTTPError as error:
            raise self.failure(error) from error
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
        """Download ``url`` into ``file``. Raises as ``request`` does, and InvalidOption if the bounds are exceeded."""
        answer = self.request("GET", url, headers={**self.headers, **(headers or {})}, preload_content=False)
        try:
            # A Content-Encoding describes the file, so the bytes are written as the server sends them.
            for chunk in answer.stream(_CHUNK, decode_content=False):
                bounds.fetch(len(chunk))
                file.write(chunk)
        except HTTPError as error:
            raise self.failure(error) from error
        finally:
            answer.close()

    def failure(self, error: HTTPError) -> CollectorFleetError:
        """Convert an error of the network or of TLS to an error of this package."""
        cause = error.reason if isinstance(error, MaxRetryError) and error.reason else error
        proxy = getattr(error.pool, "proxy", None) if isinstance(error, PoolError) else None
        through = f" through the proxy {address_of(proxy)}" if proxy is not None else ""
        wrong = _certificate_error(error)
        if wrong is not None and wrong.verify_code in _UNKNOWN_AUTHORITY:
            return InvalidOption(
                f"{self.where}: no trusted certificate authority has signed the certificate of the "
                f"server{through}: {wrong.verify_message}; set spec.code.certificateAuthority, or SSL_CERT_FILE for "
                "`collectorfleet run`"
            )
        if isinstance(cause, ProxyError):
            cause = cause.original_error
        return InfrastructureError(f"{self.where}: not reachable{through}: {cause}")


def in_utf8(login: str | None) -> str | None:
    """Return ``login`` in a form that urllib3 sends as UTF-8, as git and curl send it. None stays None.

    urllib3 and dulwich encode a login as latin-1. The result has the UTF-8 bytes of ``login`` as latin-1 characters.
    """
    return None if login is None else login.encode().decode("latin-1")


class _Pools:
    """One pool of connections for each proxy. A redirect may lead to a server with another proxy or without a proxy."""

    def __init__(self, where: str, tls: ssl.SSLContext | None) -> None:
        self._where = where
        self._options: dict[str, Any] = {
            "timeout": urllib3.Timeout(connect=_SILENT_SECONDS, read=_SILENT_SECONDS),
            "retries": urllib3.Retry(
                total=_TRIES_AGAIN,
                backoff_factor=_BACKOFF_SECONDS,
                # Retry POST, too: this package's POST requests only read data.
                allowed_methods=None,
                status_forcelist=[status for status in HTTPStatus if status >= HTTPStatus.INTERNAL_SERVER_ERROR],
                raise_on_status=False,
                retry_after_max=_SILENT_SECONDS,
            ),
            "ssl_context": tls,
        }
        self._by_proxy: dict[Url | None, urllib3.PoolManager] = {}

    def of(self, url: str) -> urllib3.PoolManager:
        """Return the connection pool for ``url``. Raises as ``proxy_of`` does."""
        proxy = proxy_of(url, self._where)
        if proxy not in self._by_proxy:
            self._by_proxy[proxy] = self._direct() if proxy is None else self._through(proxy)
        return self._by_proxy[proxy]

    def _direct(self) -> urllib3.PoolManager:
        return _Direct(self, **self._options)

    def _through(self, proxy: Url) -> urllib3.PoolManager:
        headers = make_headers(proxy_basic_auth=in_utf8(login_of(proxy)))
        tls = self._options["ssl_context"]
        return _Proxied(self, proxy.url, proxy_headers=headers, proxy_ssl_context=tls, **self._options)


class _Redirected(urllib3.PoolManager):
    """A pool that passes each request to the pool for its URL. urllib3 keeps the first URL's pool after a redirect."""

    def __init__(self, pools: _Pools, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._pools = pools

    def urlopen(  # type: ignore[override]
        self, method: str, url: str, redirect: bool = True, **options: Any
    ) -> urllib3.BaseHTTPResponse:
        right = self._pools.of(url)
        if right is not self:
            return right.urlopen(method, url, redirect=redirect, **options)
        # A proxied request has a Host header, which is wrong after a redirect.
        headers = urllib3.HTTPHeaderDict(options.pop("headers", None) or {})
        headers.discard("Host")
        return super().urlopen(method, url, redirect=redirect, headers=headers, **options)


class _Direct(_Redirected):
    pass


class _Proxied(_Redirected, urllib3.ProxyManager):
    pass


def _certificate_error(error: BaseException) -> ssl.SSLCertVerificationError | None:
    """Return the certificate error inside ``error``, or None if ``error`` has another cause.

    urllib3 wraps a certificate error up to three times.
    """
    inner: object = error
    while isinstance(inner, BaseException):
        if isinstance(inner, ssl.SSLCertVerificationError):
            return inner
        inner = getattr(inner, "reason", None) or getattr(inner, "original_error", None) or (*inner.args, None)[0]
    return None
