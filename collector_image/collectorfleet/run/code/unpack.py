"""Unpack a tar or a zip into a folder. No file is written outside the folder."""

from __future__ import annotations

import errno
import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final, cast

from collectorfleet.errors import InvalidOption, describe
from collectorfleet.run.code.bounded_reads import BoundedTar, of_zip
from collectorfleet.run.code.bounds import Bounds
from collectorfleet.run.code.decoders import open_member
from collectorfleet.run.code.members import BadMember, Kind, Member, MemberFolder, parts_of

# The header of a file, and the end record of an empty zip. A tar that contains a zip has these bytes later in the file.
_ZIP_BEGINS: Final = (b"PK\x03\x04", b"PK\x05\x06")
_DAMAGED: Final = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(ValueError, NotImplementedError, RuntimeError, OverflowError),
)
_LONGEST_TARGET_BYTES: Final = 4096
_ENCRYPTED: Final = 0x1
_SHOWN_BYTES: Final = 16
_MOST_PADDING_BYTES: Final = 16 * 2**20
_TAR_KINDS: Final = {
    **dict.fromkeys(tarfile.REGULAR_TYPES, Kind.FILE),
    tarfile.DIRTYPE: Kind.FOLDER,
    tarfile.SYMTYPE: Kind.LINK,
    tarfile.LNKTYPE: Kind.HARD_LINK,
}

# Called with the names of all members before the first is written. Returns the names to skip.
Before = Callable[[Sequence[str], MemberFolder], frozenset[str]]


def unpack(file: IO[bytes], folder: Path, bounds: Bounds, *, before: Before | None = None) -> None:
    """Unpack a zip, or a tar with or without compression. The first bytes of the file decide the format.

    Raises InvalidOption if the file has another format, is damaged or encrypted, or exceeds the bounds. Raises
    InvalidOption also if a member leads out of the folder. Raises OSError if the folder cannot be written to.
    """
    file.seek(0)
    is_zip = file.read(4) in _ZIP_BEGINS
    file.seek(0)
    try:
        try:
            (_unzip if is_zip else _untar)(file, MemberFolder(folder), bounds, before)
        except tarfile.ReadError:
            # Other bytes may precede a zip in a file, such as the first line of a zipapp.
            if is_zip or not zipfile.is_zipfile(file):
                raise
            _unzip(file, MemberFolder(folder), bounds, before)
    except InvalidOption:
        raise
    except _DAMAGED as error:
        cause = str(error) if isinstance(error, BadMember) else describe(error)
        raise InvalidOption(f"{bounds.where}: the archive cannot be unpacked: {cause}") from error
    except OSError as error:
        # If the content is damaged, Python's readers of compressed files raise OSError without an error number.
        if error.errno not in (None, errno.EINVAL, errno.ENAMETOOLONG, errno.EILSEQ):
            raise
        raise InvalidOption(f"{bounds.where}: the archive cannot be unpacked: {describe(error)}") from error


def _untar(file: IO[bytes], folder: MemberFolder, bounds: Bounds, before: Before | None) -> None:
    with _open_tar(file) as tree:
        found = []
        for one in tree:
            if one.size < 0:
                raise BadMember(f"{one.name!r} has a size of {one.size} bytes")
            bounds.unpack(one.size)
            found.append((one, _of_tar(one)))
            tree.fileobj.begin_member()
        tree.fileobj.release()
        _read_to_end(tree)
        left_out = _check([member for _, member in found], folder, bounds, before)
        for one, member in found:
            if member.name not in left_out:
                folder.put(member, tree.extractfile(one) if member.kind is Kind.FILE else None)


def _open_tar(file: IO[bytes]) -> BoundedTar:
    try:
        opened: BoundedTar = BoundedTar.open(fileobj=file, mode="r:*")
    except tarfile.ReadError as error:
        file.seek(0)
        begin = file.read(_SHOWN_BYTES)
        starts = f"it begins with {begin!r}" if begin else "it is empty"
        raise tarfile.ReadError(
            f"it is neither a zip nor a readable tar (plain, gzip, bzip2 or xz); {starts}"
        ) from error
    return opened


def _read_to_end(tree: BoundedTar) -> None:
    """Read the padding after the last member, so that the checksum of a compressed tar is verified."""
    size_bytes = 0
    while padding := tree.fileobj.read(2**20):
        size_bytes += len(padding)
        if size_bytes > _MOST_PADDING_BYTES:
            raise BadMember(f"more than {_MOST_PADDING_BYTES:,} bytes follow the last member")


def _of_tar(one: tarfile.TarInfo) -> Member:
    executable = bool(one.mode & stat.S_IXUSR)
    return Member(one.name, _TAR_KINDS.get(one.type, Kind.OTHER), one.linkname, executable)


def _unzip(file: IO[bytes], folder: MemberFolder, bounds: Bounds, before: Before | None) -> None:
    directory = of_zip(file)
    with zipfile.ZipFile(cast("IO[bytes]", directory)) as tree:
        directory.release()
        bounds.unpack(sum(one.file_size for one in tree.infolist()), len(tree.infolist()))
        found = [(one, _of_zip(one, tree)) for one in tree.infolist()]
        left_out = _check([member for _, member in found], folder, bounds, before)
        for one, member in found:
            if member.name in left_out:
                continue
            if member.kind is not Kind.FILE:
                folder.put(member)
                continue
            with open_member(tree, one) as content:
                folder.put(member, content)


def _of_zip(one: zipfile.ZipInfo, tree: zipfile.ZipFile) -> Member:
    if one.flag_bits & _ENCRYPTED:
        raise BadMember(f"{one.filename!r} is encrypted; pack it without a password")
    mode = one.external_attr >> 16  # 0 in zips from Windows
    # ZipInfo.is_dir of Python 3.11 raises IndexError for an empty name.
    if one.filename.endswith("/") or stat.S_ISDIR(mode):
        return Member(one.filename, Kind.FOLDER)
    if stat.S_ISLNK(mode):
        with open_member(tree, one) as content:
            target = content.read(_LONGEST_TARGET_BYTES).decode(errors="surrogateescape")
        return Member(one.filename, Kind.LINK, target)
    kind = Kind.FILE if stat.S_IFMT(mode) in (0, stat.S_IFREG) else Kind.OTHER
    return Member(one.filename, kind, executable=bool(mode & stat.S_IXUSR))


def _check(members: Sequence[Member], folder: MemberFolder, bounds: Bounds, before: Before | None) -> frozenset[str]:
    for member in members:
        parts_of(member.name)
        if member.kind is Kind.OTHER:
            raise BadMember(f"{member.name!r} is a {member.kind.value}")
    _count_folders(members, bounds)
    return before([member.name for member in members], folder) if before is not None else frozenset()


def _count_folders(members: Sequence[Member], bounds: Bounds) -> None:
    """Count the folders that only appear in the paths of members. Raises InvalidOption if the limit is exceeded.

    Without this count, 50,000 members could create 25 million folders.
    """
    paths = {"/".join(parts_of(member.name)) for member in members}
    for path in list(paths):
        above = path.rpartition("/")[0]
        while above and above not in paths:
            bounds.unpack(0)
            paths.add(above)
            above = above.rpartition("/")[0]


def remove(path: Path) -> None:
    """Remove a file, or a folder with its content, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def clear(folder: Path) -> None:
    """Remove the content of ``folder``, but not the folder itself, which may be a mount."""
    for path in folder.iterdir():
        remove(path)
