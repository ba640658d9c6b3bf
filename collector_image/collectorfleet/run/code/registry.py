"""Read a manifest and its blobs from a registry that follows the OCI distribution specification."""

from __future__ import annotations

import ipaddress
import json
import re
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, TYPE_CHECKING, Final, Self
from urllib.parse import urlencode, urlsplit

from urllib3 import BaseHTTPResponse
from urllib3.util import make_headers

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code.bounds import Bounds
from collectorfleet.run.code.web import Web, in_utf8

if TYPE_CHECKING:
    from collectorfleet.run.code.registry_login import Login

_MANIFESTS: Final = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
# The search starts only at the first letter of a name. Otherwise, a long word would need quadratic time.
_PARAMETER: Final = re.compile(r'(?<!\w)(\w+)="([^"]*)"')
_DOCKER_HUB: Final = "docker.io"


@dataclass(frozen=True)
class Reference:
    """A reference to an artifact, ``host/repository@digest``."""

    host: str
    repository: str
    digest: str

    @classmethod
    def of(cls, text: str) -> Self:
        name, _, digest = text.partition("@")
        host, _, repository = name.partition("/")
        if host == _DOCKER_HUB and "/" not in repository:
            repository = f"library/{repository}"
        return cls(host, repository, digest)

    @property
    def url(self) -> str:
        """The base URL of the repository's API. Only a registry on this machine is used without TLS."""
        host = f"registry-1.{_DOCKER_HUB}" if self.host == _DOCKER_HUB else self.host
        scheme = "http" if _is_loopback(f"http://{host}") else "https"
        return f"{scheme}://{host}/v2/{self.repository}"


class Registry:
    """A client of one repository. It uses the credentials ``user``, or no credentials if ``user`` is None.

    ``secret`` is the name of the Secret that has the credentials.
    """

    def __init__(
        self, reference: Reference, where: str, user: Login | None, secret: str | None, tls: ssl.SSLContext | None
    ) -> None:
        self._reference = reference
        self._user = user
        refused = (
            f"the registry rejects the credentials of Secret {secret}; correct the Secret"
            if secret
            else (
                "the artifact is private or does not exist; correct the reference, or name a Secret in "
                "credentialsSecret"
            )
        )
        self._web = Web(where, refused, tls=tls)
        self._authorization: dict[str, str] = {}

    def manifest(self, file: IO[bytes], bounds: Bounds) -> None:
        """Write the manifest into ``file``. Raises as ``Web`` does."""
        url = f"{self._reference.url}/manifests/{self._reference.digest}"
        accept = {"Accept": ", ".join(_MANIFESTS)}
        answer = self._web.request(
            "HEAD", url, headers=accept, taken=[HTTPStatus.UNAUTHORIZED, HTTPStatus.METHOD_NOT_ALLOWED]
        )
        if answer.status == HTTPStatus.UNAUTHORIZED:
            self._authorization = self._authorize(answer)
        self._web.download(url, file, bounds, {**accept, **self._authorization})

    def blob(self, digest: str, file: IO[bytes], bounds: Bounds) -> None:
        """Write a blob into ``file``. Raises as ``Web`` does."""
        self._web.download(f"{self._reference.url}/blobs/{digest}", file, bounds, self._authorization)

    def _authorize(self, refusal: BaseHTTPResponse) -> dict[str, str]:
        """Return the authorization headers that the registry requests in its ``refusal``."""
        asked = refusal.headers.get("WWW-Authenticate", "")
        scheme = asked.partition(" ")[0].lower()
        basic = _basic(self._user) if self._user else {}
        if scheme != "bearer":
            return basic
        parameters = dict(_PARAMETER.findall(asked))
        realm = parameters.get("realm", "")
        if not realm.startswith("https://") and not _is_loopback(realm):
            raise InvalidOption(
                f'{self._web.where}: the registry names the token server "{realm}", which does not use https'
            )
        scope = parameters.get("scope", f"repository:{self._reference.repository}:pull")
        query = urlencode({"service": parameters.get("service", self._reference.host), "scope": scope})
        answer = self._web.request("GET", f"{realm}?{query}", headers=basic)
        try:
            token = json.loads(answer.data)
            return {"authorization": f"Bearer {token.get('token') or token['access_token']}"}
        except (ValueError, KeyError, AttributeError):
            # The message leaves out the cause, which could quote a token.
            raise InvalidOption(
                f"{self._web.where}: the token server {realm} gave no token that could be read"
            ) from None


def _basic(user: Login) -> dict[str, str]:
    return make_headers(basic_auth=in_utf8(f"{user.username}:{user.password}"))


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
