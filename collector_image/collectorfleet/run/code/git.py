"""Fetch ``spec.code.git``: the tree of one commit, without its history, from a git server over HTTP.

Git identifies each object by the digest of its content, so a server cannot replace the commit's tree by another tree.
"""

from __future__ import annotations

import io
import re
import ssl
import stat
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import urllib3
from dulwich.client import Urllib3HttpGitClient, default_user_agent_string
from dulwich.errors import ApplyDeltaError, ChecksumMismatch, FileFormatException, GitProtocolError, HangupException
from dulwich.object_format import SHA1, SHA256
from dulwich.object_store import DiskObjectStore
from dulwich.objects import S_ISGITLINK, Commit, ObjectID, Tree, TreeEntry
from dulwich.pack import UnresolvedDeltas
from dulwich.refs import Ref
from urllib3.exceptions import HTTPError

from collectorfleet.errors import CollectorFleetError, InfrastructureError, InvalidOption, describe
from collectorfleet.run.code.bounds import Bounds
from collectorfleet.run.code.members import BadMember, Kind, Member, MemberFolder, parts_of
from collectorfleet.run.code.pack_bounds import check_pack
from collectorfleet.run.code.web import Web, in_utf8
from collectorfleet_api.v1alpha1 import Git

_DAMAGED: Final = (
    *(zlib.error, ChecksumMismatch, ApplyDeltaError, FileFormatException, UnresolvedDeltas),
    *(ValueError, KeyError),
)
_SHA1_DIGITS: Final = 40
_SHA256_DIGITS: Final = 64
_REFUSAL: Final = re.compile(rb"[0-9a-f]{4}ERR ([^\n]*)")  # a packet begins with its length
_ENOUGH: Final = 1000  # bytes that contain a refusal, or the server's capabilities
# A prefix that no ref has, so the server lists no refs. A repository may have very many refs.
_NO_REFS: Final = [b"refs/collectorfleet/none"]


@dataclass(frozen=True)
class _Login:
    username: str | None = None
    password: str | None = field(default=None, repr=False)


class _GitWeb(Web):
    """A client that records the first bytes of answers.

    dulwich does not expose the hash format of a repository, or the server's reason for refusing a commit.
    """

    def __init__(self, where: str, refused: str, tls: ssl.SSLContext | None) -> None:
        super().__init__(where, refused, {"User-Agent": default_user_agent_string()}, tls)
        self._began: list[bytearray] = []

    def request(self, method: str, url: str, **options: Any) -> urllib3.BaseHTTPResponse:
        answer = super().request(method, url, **options)
        # dulwich would treat any other answer as the answer of a plain file server. A plain file server cannot serve a
        # commit without the commit's history.
        if not answer.headers.get("Content-Type", "").startswith("application/x-git-"):
            answer.close()
            raise InvalidOption(f"{self.where}: the server is not a git server; write the address to clone from")
        began, read = bytearray(), answer.read
        self._began.append(began)

        def kept(amt: int | None = None) -> bytes:
            data = read(amt)
            if len(began) < _ENOUGH:
                began.extend(data)
            return data

        answer.read = kept  # type: ignore[method-assign, assignment]
        return answer

    def digits(self) -> int:
        """Return how many digits a commit has. The capabilities in the server's first answer show the number."""
        return _SHA256_DIGITS if b"object-format=sha256" in self._began[0] else _SHA1_DIGITS

    def refusal(self) -> str | None:
        """Return the server's error message for the commit, or None if the server sent no error."""
        found = _REFUSAL.match(self._began[-1]) if self._began else None
        return found[1].decode(errors="replace") if found else None


class _NoHistory:
    """A graph walker for dulwich that offers no local commits."""

    shallow: frozenset[ObjectID] = frozenset()
    unshallow: frozenset[ObjectID] = frozenset()

    def __next__(self) -> None:
        return None

    def ack(self, sha: ObjectID) -> None:
        """Do nothing, because no commit was offered."""

    def nak(self) -> None:
        """Do nothing, because no commit was offered."""

    def update_shallow(self, new_shallow: Any, new_unshallow: Any) -> None:
        """Do nothing, because the commit is always fetched without its parents."""


def write_tree(git: Git, credentials: Path | None, folder: Path, tls: ssl.SSLContext | None = None) -> str:
    """Write the commit's tree into ``folder``, and return ``git:`` followed by the commit.

    ``credentials`` is a folder with the files ``username`` and ``password``. ``tls`` is the TLS context. By default, it
    trusts the system's certificate authorities. Raises InvalidOption if the manifest is wrong or access is denied, and
    InfrastructureError if a retry may help.
    """
    bounds = Bounds(f"spec.code.git {git.repository} at {git.commit}")
    login = _login(git, credentials)
    # In a pod, only `folder` is writable. The temporary folder is removed before the tree is complete.
    with tempfile.TemporaryDirectory(dir=folder) as objects:
        object_format = SHA1 if len(git.commit) == _SHA1_DIGITS else SHA256
        store = DiskObjectStore.init(objects, object_format=object_format)
        try:
            _fetch(git, login, store, bounds, tls)
            _write(_tree(git, store, bounds), store, folder, bounds)
        except CollectorFleetError:
            raise
        except BadMember as error:
            raise InvalidOption(f"{bounds.where}: the tree cannot be written: {error}") from error
        except _DAMAGED as error:
            raise InfrastructureError(f"{bounds.where}: the server sent damaged objects: {describe(error)}") from error
        finally:
            store.close()
    return f"git:{git.commit}"


def _login(git: Git, credentials: Path | None) -> _Login:
    if credentials is None or git.credentials_secret is None:
        return _Login()
    absent = [key for key in ("username", "password") if not (credentials / key).is_file()]
    if absent:
        raise InvalidOption(
            f"spec.code.git.credentialsSecret: Secret {git.credentials_secret.name} has no {' and no '.join(absent)}; "
            "use a Secret of type kubernetes.io/basic-auth"
        )
    username, password = ((credentials / key).read_text().rstrip("\n") for key in ("username", "password"))
    return _Login(username, password)


def _web(git: Git, bounds: Bounds, tls: ssl.SSLContext | None) -> _GitWeb:
    if git.credentials_secret is not None:
        refused = f"the server rejects the credentials of Secret {git.credentials_secret.name}; correct the Secret"
    else:
        refused = (
            "the repository is private or does not exist; correct the address, or name a Secret in credentialsSecret"
        )
    return _GitWeb(bounds.where, refused, tls)


def _fetch(git: Git, login: _Login, store: DiskObjectStore, bounds: Bounds, tls: ssl.SSLContext | None) -> None:
    web = _web(git, bounds, tls)
    client = Urllib3HttpGitClient(
        git.repository,
        # dulwich uses only `request` and `headers` of a pool. `web` sends the password to no other server.
        pool_manager=cast("Any", web),
        username=in_utf8(login.username),
        password=in_utf8(login.password),
        thin_packs=False,
        quiet=True,
    )

    def wants(refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:  # noqa: ARG001  (its names)
        if len(git.commit) != web.digits():
            raise InvalidOption(
                f"{web.where}: commits of that repository have {web.digits()} digits; write the full hash"
            )
        return [ObjectID(git.commit.encode())]

    pack, keep, drop = store.add_pack()

    def received(data: bytes) -> int:
        bounds.fetch(len(data))
        return pack.write(data)

    try:
        client.fetch_pack("", wants, cast("Any", _NoHistory()), received, depth=1, ref_prefix=_NO_REFS)
        if pack.tell():
            check_pack(pack, len(git.commit) // 2, bounds)
        keep()
    except GitProtocolError as error:
        drop()
        raise _explained(error, web) from error
    except BaseException:
        drop()
        raise


def _explained(error: GitProtocolError, web: _GitWeb) -> CollectorFleetError:
    refusal = web.refusal()
    if refusal is not None:
        return InvalidOption(
            f"{web.where}: the repository does not serve this commit; push the commit, or correct the hash: {refusal}"
        )
    if isinstance(error.__cause__, HTTPError):
        return web.failure(error.__cause__)
    if isinstance(error, HangupException):
        return InfrastructureError(f"{web.where}: {error}")
    return InvalidOption(f"{web.where}: the server is not a git server: {error}")


def _tree(git: Git, store: DiskObjectStore, bounds: Bounds) -> ObjectID:
    try:
        found = store[ObjectID(git.commit.encode())]
    except KeyError as error:
        raise InvalidOption(
            f"{bounds.where}: the repository does not serve this commit; push the commit, or correct the hash"
        ) from error
    if not isinstance(found, Commit):
        raise InvalidOption(
            f"{bounds.where}: the object is a {found.type_name.decode()}, not a commit; name the commit"
        )
    return ObjectID(found.tree)


def _entries(tree: ObjectID, store: DiskObjectStore, bounds: Bounds) -> Iterator[TreeEntry]:
    """Yield the files and links of the tree. Folders are only counted.

    The count is needed, because a few trees that contain each other many times can expand to endless folders.
    """
    waiting = [TreeEntry(b"", stat.S_IFDIR, tree)]
    while waiting:
        entry = waiting.pop()
        if not stat.S_ISDIR(entry.mode or 0):
            yield entry
            continue
        _, content = store.get_raw(entry.sha)
        bounds.folder(len(content))
        found = cast("Tree", store[entry.sha])
        bounds.unpack(0, files=len(found))
        inside = [one.in_path(entry.path) for one in found.iteritems(name_order=True)]
        for one in inside:
            parts_of(one.path.decode(errors="surrogateescape"))
        waiting.extend(reversed(inside))


def _write(tree: ObjectID, store: DiskObjectStore, folder: Path, bounds: Bounds) -> None:
    members = MemberFolder(folder)
    for entry in list(_entries(tree, store, bounds)):  # count all entries before writing the first
        name, mode = entry.path.decode(errors="surrogateescape"), entry.mode
        if S_ISGITLINK(mode):
            raise InvalidOption(
                f"{bounds.where}: {name} is a submodule, which is another repository; put its files into this "
                "repository, or pack both repositories into an archive"
            )
        content = store[entry.sha].as_raw_string()
        bounds.unpack(len(content), files=0)
        if stat.S_ISLNK(mode):
            member = Member(name, Kind.LINK, content.decode(errors="surrogateescape"))
        else:
            member = Member(name, Kind.FILE, executable=bool(mode & stat.S_IXUSR))
        members.put(member, io.BytesIO(content))
