"""Archives whose headers promise too much are refused with numbers, before memory or disk is used up."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
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
    refused(header("a.py", size), into, f"1 file of {size:,} bytes unpacked exceeds the limit of 50,000 files or 5")


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
    refused(folders + bytes(1024), into, "21 files of 0 bytes unpacked exceed the limit of 20 files or")


def deep_file(number: int, levels: int) -> bytes:
    """The header of an empty file below so many folders, which no member of the tar names."""
    one = tarfile.TarInfo(f"{number}/{'a/' * (levels - 1)}x.py")
    return one.tobuf(tarfile.GNU_FORMAT)


def test_folders_that_only_paths_name_count_before_one_is_made(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_FILES", 20)
    refused(deep_file(1, levels=30) + bytes(1024), into, "21 files of 0 bytes unpacked exceed the limit of 20 files or")


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
    refused(with_size(made.getvalue(), size), into, f"1 file of {size:,} bytes unpacked exceeds the limit of")


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


def lzma_tar(dictionary_bytes: int, content: bytes = b"a = 1\n", container: int = lzma.FORMAT_XZ) -> bytes:
    """A tar of one file, whose decoder has to allocate such a dictionary."""
    kind = lzma.FILTER_LZMA2 if container == lzma.FORMAT_XZ else lzma.FILTER_LZMA1
    archive = header("a.py", len(content)) + content + bytes(-len(content) % 512) + bytes(1024)
    packer = lzma.LZMACompressor(container, filters=[{"id": kind, "preset": 0, "dict_size": 2**20}])
    packed = bytearray(packer.compress(archive) + packer.flush())
    if container == lzma.FORMAT_ALONE:
        packed[1:5] = struct.pack("<I", dictionary_bytes)
        return bytes(packed)
    # The filter of the first block: its id, the size of its properties, and the dictionary as an exponent.
    place = packed.index(b"\x21\x01", 12) + 2
    exponent = next(one for one in range(41) if dictionary_of(one) >= dictionary_bytes)
    packed[place] = exponent
    end = 12 + (packed[12] + 1) * 4
    packed[end - 4 : end] = struct.pack("<I", zlib.crc32(bytes(packed[12 : end - 4])))
    return bytes(packed)


def dictionary_of(exponent: int) -> int:
    """As the format of xz says."""
    return 2**32 - 1 if exponent == 40 else (2 | exponent & 1) << (exponent // 2 + 11)


NEEDS_TOO_MUCH = (
    "the archive cannot be unpacked: unpacking {} takes more than 83,886,080 bytes of memory; compress it with a "
    "dictionary of at most 64 MiB"
)


@pytest.mark.parametrize("container", [lzma.FORMAT_XZ, lzma.FORMAT_ALONE], ids=["xz", "LZMA"])
@pytest.mark.parametrize("size", [96 * 2**20, 2**30, 2**32 - 1], ids=["96 MiB", "1 GiB", "4 GiB"])
def test_a_tar_whose_dictionary_takes_too_much_memory_is_refused(into: Path, size: int, container: int) -> None:
    if container == lzma.FORMAT_ALONE and size == 96 * 2**20:
        size = 2**27  # the size of a dictionary that is no power of two is no sign of LZMA
    refused(lzma_tar(size, container=container), into, NEEDS_TOO_MUCH.format("the archive"))


def test_a_second_stream_of_a_tar_is_bounded_too(into: Path) -> None:
    whole = header("a.py", 6) + b"a = 1\n" + bytes(506)
    second = lzma_tar(2**30)
    refused(lzma.compress(whole) + second, into, NEEDS_TOO_MUCH.format("the archive"))


@pytest.mark.parametrize("preset", [0, 6, 9, 9 | lzma.PRESET_EXTREME])
def test_tars_of_all_presets_of_xz_are_unpacked(into: Path, preset: int) -> None:
    content = bytes(range(256)) * 5000
    archive = header("a.bin", len(content)) + content + header("b.bin", 512) + bytes(512) + bytes(1024)
    half = len(archive) // 2
    streams = lzma.compress(archive[:half], preset=preset) + lzma.compress(archive[half:], preset=preset)
    unpack(io.BytesIO(streams), into, Bounds("spec.code.archive"))
    assert (into / "a.bin").read_bytes() == content
    assert (into / "b.bin").read_bytes() == bytes(512)


def zip_of_one(content: bytes, compression: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as tree:
        tree.writestr("a.bin", content)
    return made.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "LZMA"])
@pytest.mark.parametrize("content", [b"", b"a = 1\n", bytes(range(256)) * 5000], ids=["empty", "small", "large"])
def test_files_of_zips_are_unpacked_whatever_compresses_them(into: Path, compression: int, content: bytes) -> None:
    unpack(io.BytesIO(zip_of_one(content, compression)), into, Bounds("spec.code.archive"))
    assert (into / "a.bin").read_bytes() == content


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "LZMA"])
@pytest.mark.parametrize(
    ("size", "why"),
    [(100, "BadZipFile: Bad CRC-32 for file 'a.bin'"), (2**28, "EOFError: 'a.bin' is shorter than|LZMAError|EOFError")],
    ids=["less", "more"],
)
def test_a_file_of_a_zip_with_a_wrong_size_takes_no_memory(into: Path, compression: int, size: int, why: str) -> None:
    archive = with_size(zip_of_one(bytes(2**27), compression), size)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidOption, match=rf"^spec\.code\.archive: the archive cannot be unpacked: ({why})"):
            unpack(io.BytesIO(archive), into, Bounds("spec.code.archive"))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MEMORY_BYTES


def test_a_file_of_a_zip_whose_dictionary_takes_too_much_memory_is_refused(into: Path) -> None:
    archive = bytearray(zip_of_one(b"a = 1\n", zipfile.ZIP_LZMA))
    begin = archive.index(b"a.bin") + len("a.bin") + 4  # behind the version and the size of the properties
    archive[begin + 1 : begin + 5] = struct.pack("<I", 2**32 - 1)
    with pytest.raises(InvalidOption, match=NEEDS_TOO_MUCH.format("'a.bin'")):
        unpack(io.BytesIO(archive), into, Bounds("spec.code.archive"))
