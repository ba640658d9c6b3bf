"""Archives whose headers promise too much are refused with numbers, before memory or disk is used up."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code import bounded_reads, bounds
from collectorfleet.run.code.bounds import Bounds
from collectorfleet.run.code.unpack import unpack

HUGE = 2**40
MEMORY_BYTES = 64 * 2**20
COMPRESSED_BYTES = 96 * 2**20


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE, tar_format: int = tarfile.GNU_FORMAT) -> bytes:
    """The header of a member alone, as its writer wants it to be read."""
    one = tarfile.TarInfo(name)
    one.size, one.type = size, kind
    return one.tobuf(tar_format)


def refused(archive: bytes, folder: Path, why: str) -> None:
    """It is refused, and neither memory nor the folder has got anything of what it promised."""
    tracemalloc.start()
    try:
        with pytest.raises(InvalidOption, match=rf"^spec\.code\.archive: {why}"):
            unpack(io.BytesIO(archive), folder, Bounds("spec.code.archive"))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MEMORY_BYTES
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("size", [513 * 2**20, HUGE, 2**70], ids=["just too much", "huge", "beyond any disk"])
def test_a_member_that_says_it_is_too_large_is_refused_although_there_is_nothing_of_it(into: Path, size: int) -> None:
    refused(header("a.py", size), into, f"1 files of {size:,} bytes unpacked are more than 50,000 or 536,870,912")


KINDS = {
    "GNU name": tarfile.GNUTYPE_LONGNAME,
    "GNU link": tarfile.GNUTYPE_LONGLINK,
    "POSIX": tarfile.XHDTYPE,
    "POSIX, for all": tarfile.XGLTYPE,
    "Solaris": tarfile.SOLARIS_XHDTYPE,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize(
    "size", [COMPRESSED_BYTES, HUGE, 2**62, -512], ids=["compressed", "huge", "enormous", "below zero"]
)
def test_a_name_that_says_it_is_too_long_is_refused_before_it_is_read(into: Path, kind: bytes, size: int) -> None:
    content = bytes(size if size == COMPRESSED_BYTES else 2**20)
    archive = gzip.compress(header("a.py", size, kind) + content, compresslevel=1)
    del content
    why = "the archive cannot be unpacked: (the header of a member has more than 65,536 bytes|ReadError: .*)"
    refused(archive, into, why)


def test_a_map_of_holes_without_an_end_is_refused(into: Path) -> None:
    begin = bytearray(header("a.bin", 512, tarfile.GNUTYPE_SPARSE))
    begin[482] = 1  # more of the map follows
    begin[148:156] = b" " * 8
    begin[148:156] = b"%06o\0 " % sum(begin)
    more = bytearray(512)
    more[504] = 1  # and more after this
    refused(
        gzip.compress(bytes(begin) + bytes(more) * 200_000, compresslevel=1),
        into,
        "the archive cannot be unpacked: the header of a member has more than 65,536 bytes",
    )


def test_many_long_names_are_refused_together(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_reads, "MOST_HEADERS_BYTES", 2**20)
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tree:
        for number in range(40):
            one = tarfile.TarInfo(f"{number}.py")
            one.pax_headers = {"comment": "x" * 40_000}
            tree.addfile(one)
    refused(
        made.getvalue(),
        into,
        "the archive cannot be unpacked: the headers of all members have more than 1,048,576 bytes",
    )


def test_too_many_members_are_refused_before_one_is_written(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_FILES", 20)
    folders = b"".join(header(f"{number}", 0, tarfile.DIRTYPE) for number in range(30))
    refused(folders + bytes(1024), into, "21 files of 0 bytes unpacked are more than 20 or")


def deep_file(number: int, levels: int) -> bytes:
    """The header of an empty file below so many folders, which no member of the tar names."""
    one = tarfile.TarInfo(f"{number}/{'a/' * (levels - 1)}x.py")
    return one.tobuf(tarfile.GNU_FORMAT)


def test_folders_that_only_paths_name_count_before_one_is_made(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_FILES", 20)
    refused(deep_file(1, levels=30) + bytes(1024), into, "21 files of 0 bytes unpacked are more than 20 or")


def test_folders_that_members_and_paths_name_count_once(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_FILES", 6)
    folders = b"".join(header(name, 0, tarfile.DIRTYPE) for name in ("1/", "./1/a"))
    archive = folders + b"".join(header(f"1/a/b/{number}.py", 0) for number in range(3)) + bytes(1024)
    unpack(io.BytesIO(archive), into, Bounds("spec.code.archive"))
    assert len([one for one in into.rglob("*") if one.is_file()]) == 3


def with_size(archive: bytes, size: int) -> bytes:
    """The directory of a zip of one file says that the file has so many bytes."""
    begin = archive.index(b"PK\x01\x02") + 24
    return archive[:begin] + struct.pack("<I", size) + archive[begin + 4 :]


def test_a_file_of_a_zip_that_says_it_is_too_large_is_refused_before_it_is_read(into: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as tree:
        tree.writestr("a.bin", bytes(2**20))
    size = 2**32 - 2
    refused(with_size(made.getvalue(), size), into, f"1 files of {size:,} bytes unpacked are more than")


def test_a_directory_of_a_zip_that_is_too_large_is_refused_before_it_is_read(
    into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_reads, "MOST_DIRECTORY_BYTES", 2**20)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as tree:
        for number in range(500):
            tree.writestr(f"{number}", b"")
            tree.infolist()[-1].comment = b"x" * 4000
    refused(
        made.getvalue(),
        into,
        "the archive cannot be unpacked: the directory of the zip has more than 1,048,576 bytes",
    )
