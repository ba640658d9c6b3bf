"""HTTP as all fetching of code needs it: patient with networks, and plain about what a server refuses.

What may pass is tried again here, for a quarter of a minute, and by Kubernetes after that.
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

_SILENT_SECONDS: Final = 30  # without a byte
_TRIES_AGAIN: Final = 4
_BACKOFF_SECONDS: Final = 1  # doubled each time
_CHUNK: Final = 2**20
_REFUSED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_PASSES: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
_USER_ERRORS: Final = range(400, 500)
# OpenSSL's codes: a self-signed certificate, or an issuer that we do not have.
_UNKNOWN_AUTHORITY: Final = (2, 18, 19, 20, 21)


class Web:
    """Asks one server, and those that it sends us on to, which see no credentials of ours.

    Requests go through the proxies of the environment.

    Args:
        where: what is fetched; begins every sentence.
        refused: what to do where the server refuses us.
        headers: go with every request.
        tls: what to trust servers by. Default: the certificate authorities of the system.
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
        """The server's answer, of status 200 or one of those ``taken``; ``options`` are urllib3's.

        Raises InvalidOption where it would answer the same again, InfrastructureError otherwise.
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
        """Write what is at ``url`` into ``file``. Raises as ``request`` does, and InvalidOption beyond the bounds."""
        answer = self.request("GET", url, headers={**self.headers, **(headers or {})}, preload_content=False)
        try:
            # What the server may say of an encoding is about the file, whose bytes are asked for.
            for chunk in answer.stream(_CHUNK, decode_content=False):
                bounds.fetch(len(chunk))
                file.write(chunk)
        except HTTPError as error:
            raise self.failure(error) from error
        finally:
            answer.close()

    def failure(self, error: HTTPError) -> CollectorFleetError:
        """Return what an error of the network or of TLS is for a run."""
        cause = error.reason if isinstance(error, MaxRetryError) and error.reason else error
        proxy = getattr(error.pool, "proxy", None) if isinstance(error, PoolError) else None
        through = f" through the proxy {address_of(proxy)}" if proxy is not None else ""
        wrong = _certificate_error(error)
        if wrong is not None and wrong.verify_code in _UNKNOWN_AUTHORITY:
            return InvalidOption(
                f"{self.where}: no trusted certificate authority has signed the certificate of the "
                f"server{through}: {wrong.verify_message}; name the authority in "
                "spec.code.certificateAuthority, or for `collectorfleet run` in SSL_CERT_FILE"
            )
        if isinstance(cause, ProxyError):
            cause = cause.original_error
        return InfrastructureError(f"{self.where}: not reachable{through}: {cause}")


class _Pools:
    """Connections by the proxy that they go through. Redirects may lead to a server with another proxy, or none."""

    def __init__(self, where: str, tls: ssl.SSLContext | None) -> None:
        self._where = where
        self._options: dict[str, Any] = {
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
            "ssl_context": tls,
        }
        self._by_proxy: dict[Url | None, urllib3.PoolManager] = {}

    def of(self, url: str) -> urllib3.PoolManager:
        """Return the connections for ``url``. Raises as ``proxy_of`` does."""
        proxy = proxy_of(url, self._where)
        if proxy not in self._by_proxy:
            self._by_proxy[proxy] = self._direct() if proxy is None else self._through(proxy)
        return self._by_proxy[proxy]

    def _direct(self) -> urllib3.PoolManager:
        return _Direct(self, **self._options)

    def _through(self, proxy: Url) -> urllib3.PoolManager:
        headers = make_headers(proxy_basic_auth=login_of(proxy))
        tls = self._options["ssl_context"]
        return _Proxied(self, proxy.url, proxy_headers=headers, proxy_ssl_context=tls, **self._options)


class _Redirected(urllib3.PoolManager):
    """Hands a request on to the connections for its address. urllib3 keeps those of the first address."""

    def __init__(self, pools: _Pools, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._pools = pools

    def urlopen(  # type: ignore[override]
        self, method: str, url: str, redirect: bool = True, **options: Any
    ) -> urllib3.BaseHTTPResponse:
        right = self._pools.of(url)
        if right is not self:
            return right.urlopen(method, url, redirect=redirect, **options)
        # A proxied request has one, which is wrong after a redirect.
        headers = urllib3.HTTPHeaderDict(options.pop("headers", None) or {})
        headers.discard("Host")
        return super().urlopen(method, url, redirect=redirect, headers=headers, **options)


class _Direct(_Redirected):
    pass


class _Proxied(_Redirected, urllib3.ProxyManager):
    pass


def _certificate_error(error: BaseException) -> ssl.SSLCertVerificationError | None:
    """Return what was wrong with a certificate, which urllib3 wraps up to three times."""
    inner: object = error
    while isinstance(inner, BaseException):
        if isinstance(inner, ssl.SSLCertVerificationError):
            return inner
        inner = getattr(inner, "reason", None) or getattr(inner, "original_error", None) or (*inner.args, None)[0]
    return None
