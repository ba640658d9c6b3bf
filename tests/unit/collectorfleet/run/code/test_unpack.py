"""Archives are unpacked below one folder, or refused in a sentence, whatever is in them."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import stat
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code import artifact
from collectorfleet.run.code import unpack as unpacking
from collectorfleet.run.code.bounds import Bounds
from collectorfleet.run.code.members import Kind, Member
from collectorfleet.run.code.unpack import unpack

CONTENT = b"a = 1\n"
TYPES = {
    Kind.FILE: tarfile.REGTYPE,
    Kind.FOLDER: tarfile.DIRTYPE,
    Kind.LINK: tarfile.SYMTYPE,
    Kind.HARD_LINK: tarfile.LNKTYPE,
    Kind.OTHER: tarfile.FIFOTYPE,
}
MODES = {Kind.FILE: stat.S_IFREG, Kind.LINK: stat.S_IFLNK, Kind.OTHER: stat.S_IFIFO}


def file(name: str, *, executable: bool = False) -> Member:
    return Member(name, Kind.FILE, executable=executable)


def tar(*members: Member, content: bytes = CONTENT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tree:
        for member in members:
            one = tarfile.TarInfo(member.name)
            one.type, one.linkname = TYPES[member.kind], member.target
            one.mode = 0o775 if member.executable else 0o666
            one.size = len(content) if member.kind is Kind.FILE else 0
            tree.addfile(one, io.BytesIO(content))
    return made.getvalue()


def zip_of(*members: Member, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as tree:
        for member in members:
            one = zipfile.ZipInfo(f"{member.name}/" if member.kind is Kind.FOLDER else member.name)
            one.compress_type = compression
            mode = MODES.get(member.kind, 0) | (0o755 if member.executable else 0o644)
            one.external_attr = mode << 16
            is_link = member.kind is Kind.LINK
            tree.writestr(one, member.target.encode(errors="surrogateescape") if is_link else CONTENT * 100)
    return made.getvalue()


def put(archive: bytes, folder: Path, *, layer: bool = False) -> None:
    before = artifact._apply_whiteouts if layer else None
    unpack(io.BytesIO(archive), folder, Bounds("spec.code.archive"), before=before)


def files(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if not one.is_dir())


def refused(archive: bytes, folder: Path, why: str, *, layer: bool = False) -> None:
    with pytest.raises(InvalidOption, match=rf"^spec.code.archive: the archive cannot be unpacked: {why}"):
        put(archive, folder, layer=layer)


def test_a_tar_that_ends_with_a_zip_is_a_tar(into: Path) -> None:
    weights = zip_of(file("weights/data.pkl"), compression=zipfile.ZIP_STORED)
    made = io.BytesIO(tar(file("my_train.py")))
    with tarfile.open(fileobj=made, mode="a") as tree:
        one = tarfile.TarInfo("policy.pt")
        one.size = len(weights)
        tree.addfile(one, io.BytesIO(weights))
    assert zipfile.is_zipfile(made)
    put(made.getvalue(), into)
    assert files(into) == ["my_train.py", "policy.pt"]
    assert (into / "policy.pt").read_bytes() == weights


@pytest.mark.parametrize("pack", [tar, zip_of])
def test_what_can_be_executed_and_links_stay_so_and_modes_are_plain(pack: object, into: Path) -> None:
    link = Member("lib/same.py", Kind.LINK, "../run.py")
    put(pack(file("run.py", executable=True), file("lib/a.py"), link), into)  # type: ignore[operator]
    assert stat.S_IMODE((into / "run.py").stat().st_mode) == 0o755
    assert stat.S_IMODE((into / "lib/a.py").stat().st_mode) == 0o644
    assert (into / "lib/same.py").readlink() == Path("../run.py")


@pytest.mark.parametrize("pack", [tar, zip_of])
def test_a_member_without_a_name_is_left_out(pack: object, into: Path) -> None:
    put(pack(file("a.py"), file("")), into)  # type: ignore[operator]
    assert files(into) == ["a.py"]


@pytest.mark.parametrize(
    ("archive", "begins"),
    [(b"", "it is empty"), (b"<!DOCTYPE html><html>", "it begins with b'<!DOCTYPE html><'")],
    ids=["empty", "a page"],
)
def test_a_file_of_another_format_is_named_in_one_line(into: Path, archive: bytes, begins: str) -> None:
    refused(archive, into, f"ReadError: it is neither a zip nor a readable tar .*; {begins}$")


def test_a_link_that_replaces_a_link_decides_where_later_members_go(into: Path) -> None:
    links = [Member("lib", Kind.LINK, target) for target in ("one", "two")]
    folders = [Member(name, Kind.FOLDER) for name in ("one", "two")]
    put(tar(*folders, links[0], file("lib/deep/a.py"), links[1], file("lib/deep/b.py")), into)
    assert files(into) == ["one/deep/a.py", "two/deep/b.py"]


def test_a_hard_link_of_a_tar_is_the_file_that_it_names(into: Path) -> None:
    put(tar(file("a.py"), Member("lib/b.py", Kind.HARD_LINK, "./a.py")), into)
    assert (into / "lib/b.py").read_bytes() == CONTENT


def test_no_function_of_newer_patches_of_python_is_needed(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Debian 12 has Python 3.11.2, where tarfile has no filters.
    monkeypatch.delattr(tarfile, "data_filter")
    monkeypatch.delattr(tarfile.TarFile, "extractall")
    put(tar(file("lib/a.py")), into)
    assert files(into) == ["lib/a.py"]


@pytest.mark.parametrize(
    ("member", "why"),
    [
        (file("../a.py"), r"'\.\./a\.py' leads out of its folder"),
        (file("lib/../../a.py"), r"'lib/\.\./\.\./a\.py' leads out of its folder"),
        (
            Member("a.py", Kind.LINK, "/etc/passwd"),
            r"'a\.py' is a link to '/etc/passwd', which is outside of the folder",
        ),
        (
            Member("lib/a.py", Kind.LINK, "../../a"),
            r"'lib/a\.py' is a link to '\.\./\.\./a', which is outside of the folder",
        ),
        (
            Member("a.py", Kind.LINK, "lib/../.."),
            r"'a\.py' is a link to 'lib/\.\./\.\.', which is outside of the folder",
        ),
        (Member("pipe", Kind.OTHER), r"'pipe' is a device or other special file"),
        (file("a" * 256), r"'a{40}'\.\.\. has a name of more than 255 bytes"),
    ],
    ids=["above", "above by a detour", "absolute link", "link above", "link by a detour", "pipe", "long name"],
)
@pytest.mark.parametrize("pack", [tar, zip_of])
def test_a_member_that_leads_out_is_refused_by_its_name(pack: object, member: Member, why: str, into: Path) -> None:
    refused(pack(member), into, why)  # type: ignore[operator]
    assert files(into.parent) == []


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("../outside.py", "leads out"),
        ("b.py", "but no file with this name was unpacked before"),
        ("lib", "but no file with this name was unpacked before"),
    ],
)
def test_a_hard_link_to_anything_but_a_file_before_it_is_refused(into: Path, target: str, why: str) -> None:
    refused(tar(Member("lib", Kind.FOLDER), Member("a.py", Kind.HARD_LINK, target)), into, f".*{why}")


def test_a_name_that_is_a_file_and_a_folder_is_refused(into: Path) -> None:
    refused(tar(file("lib"), file("lib/a.py")), into, "'lib/a.py' needs a folder, but a file has the folder's name")
    refused(tar(file("other/a.py"), file("other")), into, "'other' is both a folder and a file")


def test_a_link_that_was_there_is_replaced_and_not_written_through(into: Path) -> None:
    (into.parent / "outside.py").write_text("untouched")
    (into / "a.py").symlink_to("../outside.py")
    put(tar(file("a.py")), into)
    assert (into.parent / "outside.py").read_text() == "untouched"
    (into / "lib").symlink_to("..")
    refused(tar(file("lib/outside.py")), into, "'lib/outside.py' leads out of its folder through a link")
    assert (into.parent / "outside.py").read_text() == "untouched"


@pytest.mark.parametrize("mark", [".wh..", ".wh...", ".wh.", "lib/.wh..."], ids=["folder", "parent", "nothing", "deep"])
def test_a_layer_takes_away_nothing_but_what_it_names(into: Path, mark: str) -> None:
    (into.parent / "outside.py").write_text("untouched")
    put(tar(file("lib/a.py")), into)
    refused(tar(file(mark)), into, r".* marks a deleted file \(whiteout\), but does not name the file", layer=True)
    assert files(into.parent) == ["into/lib/a.py", "outside.py"]


def test_a_layer_takes_away_what_it_names(into: Path) -> None:
    put(tar(file("a.py"), file("lib/b.py"), file("old/c.py"), file("old/d.py")), into)
    marks = ["lib/.wh.b.py", "old/.wh..wh..opq", ".wh.not-there", "neither/.wh.a.py", "neither/.wh..wh..opq"]
    put(tar(*map(file, marks), file("old/e.py")), into, layer=True)
    assert files(into) == ["a.py", "old/e.py"]


def with_bytes(archive: bytes, offset: int, new: bytes) -> bytes:
    """Changed in the header of the one file and in the directory, which has the same fields two bytes further on."""
    changed = bytearray(archive)
    for begin, shift in ((archive.index(b"PK\x03\x04"), 0), (archive.index(b"PK\x01\x02"), 2)):
        changed[begin + offset + shift : begin + offset + shift + len(new)] = new
    return bytes(changed)


def damaged(archive: bytes) -> bytes:
    middle = len(archive) // 2
    return archive[: middle - 8] + b"\xff" * 16 + archive[middle + 8 :]


ZIP, LARGE = zip_of(file("a.py")), os.urandom(4000)


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        (with_bytes(ZIP, 6, b"\x01\x00"), "'a.py' is encrypted; pack it without a password"),
        (with_bytes(ZIP, 8, b"\x63\x00"), "'a.py' is compressed by method 99; use deflate, bzip2 or LZMA"),
        (with_bytes(ZIP, 22, b"\x05\x00\x00\x00"), ""),  # a wrong size
        (ZIP[:40] + b"\xff\xff" + ZIP[42:], ""),
        (ZIP[:-30], "BadZipFile"),
        (ZIP[:10], "BadZipFile"),
        (damaged(gzip.compress(tar(file("a.py"), content=LARGE.hex().encode()))), ""),
        (gzip.compress(tar(file("a.py"), content=LARGE))[:-2000], "EOFError"),
        (damaged(bz2.compress(tar(file("a.py"), content=LARGE))), ""),
        (tar(file("a.py"), content=LARGE)[:2000], ""),
        (b"", "ReadError"),
        (b"PK", "ReadError"),
        (b"<html>not found</html>", "ReadError"),
    ],
    ids=[
        *("encrypted zip", "odd zip", "wrong size", "damaged zip", "short zip", "stub of a zip", "damaged gzip"),
        *("short gzip", "damaged bzip2", "short tar", "nothing", "two bytes", "a page"),
    ],
)
def test_what_is_damaged_or_odd_is_refused_in_a_sentence(archive: bytes, why: str, into: Path) -> None:
    refused(archive, into, why)


def test_a_zip_with_something_before_it_is_a_zip(into: Path) -> None:
    put(b"#!/usr/bin/env python3\n" + ZIP, into)
    assert files(into) == ["a.py"]


def test_a_folder_of_a_zip_need_not_end_with_a_slash(into: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as tree:
        folder = zipfile.ZipInfo("lib")
        folder.external_attr = (stat.S_IFDIR | 0o755) << 16
        tree.writestr(folder, b"")
        tree.writestr("lib/a.py", CONTENT)
    put(made.getvalue(), into)
    assert files(into) == ["lib/a.py"]


def test_a_hard_link_to_a_link_is_the_same_link(into: Path) -> None:
    link = Member("same.py", Kind.LINK, "a.py")
    put(tar(file("a.py"), link, Member("again.py", Kind.HARD_LINK, "same.py")), into)
    assert (into / "again.py").readlink() == Path("a.py")
    refused(tar(Member("lib/again.py", Kind.HARD_LINK, "up.py"), Member("up.py", Kind.LINK, "../a")), into, ".*no file")


def test_what_follows_the_last_member_is_padding_and_has_a_bound(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Bounds("spec.code.archive")
    unpack(io.BytesIO(gzip.compress(tar(file("a.py")) + bytes(2**20))), into, counted)
    assert counted.size_bytes == len(CONTENT)
    monkeypatch.setattr(unpacking, "_MOST_PADDING_BYTES", 2**20)
    refused(gzip.compress(tar(file("a.py")) + bytes(2**21)), into, "more than 1,048,576 bytes follow the last member")


def test_a_size_below_zero_does_not_make_room_for_more(into: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as tree:
        folder = tarfile.TarInfo("lib")
        folder.type, folder.size = tarfile.DIRTYPE, -(10**12)
        tree.addfile(folder)
    refused(made.getvalue(), into, "")
    assert files(into) == []


NAMES = st.lists(
    st.sampled_from(
        ["a", "b", "A", "..", ".", "", ".wh.a", ".wh..", ".wh..wh..opq", "é", "e\u0301", "\udcff", "x" * 256]
    ),
    min_size=1,
    max_size=5,
).map("/".join)
MEMBERS = st.builds(Member, NAMES, st.sampled_from(Kind), NAMES, st.booleans())


@pytest.mark.filterwarnings("ignore:Duplicate name")
@given(st.lists(st.lists(MEMBERS, max_size=6), max_size=3), st.booleans(), st.booleans())
def test_no_members_lead_out_of_the_folder(archives: list[list[Member]], as_zip: bool, layer: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        outside = Path(name) / "outside"
        folder = outside / "into"
        folder.mkdir(parents=True)
        (outside / "a").write_text("untouched")
        for members in archives:
            storable = [one for one in members if one.name and not (as_zip and "\udcff" in one.name + one.target)]
            try:
                put((zip_of if as_zip else tar)(*storable), folder, layer=layer)
            except InvalidOption as error:
                assert "cannot be unpacked" in str(error)  # noqa: PT017  (to refuse is one of two right answers)
        assert sorted(one.name for one in outside.iterdir()) == ["a", "into"]
        assert (outside / "a").read_text() == "untouched"
        for one in folder.rglob("*"):
            kind = one.lstat().st_mode
            assert stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind)
            assert Path(os.path.realpath(one)).is_relative_to(folder.resolve())
