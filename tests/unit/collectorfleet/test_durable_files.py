"""A file is the old one or the new one, and a try that failed takes no room."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import BinaryIO

import pytest

from collectorfleet.display.report.files import write_whole
from collectorfleet.durable_files import describe_failure, volume_error, write


def half(out: BinaryIO) -> None:
    out.write(b"half")
    raise ValueError("no more")


def test_what_is_written_is_there_under_its_own_name_alone(tmp_path: Path) -> None:
    write(tmp_path / "file", lambda out: out.write(b"new"))
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"new")]


def test_a_try_that_fails_leaves_the_old_file_and_nothing_that_takes_room(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(ValueError, match="no more"):
        write(tmp_path / "file", half)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"old")]


def test_the_target_of_a_link_is_written_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/file")
    for content in (b"first", b"second"):
        write(tmp_path / "link", lambda out, content=content: out.write(content))  # type: ignore[misc]
        assert (tmp_path / "there" / "file").read_bytes() == content
    assert (tmp_path / "link").is_symlink()
    assert [one.name for one in (tmp_path / "there").iterdir()] == ["file"]


def test_a_pipe_gets_the_content_and_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(pipe, lambda out: out.write(b"new"))
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert [one.name for one in tmp_path.iterdir()] == ["pipe"]


def test_an_error_of_a_write_names_the_file_the_room_that_is_left_and_what_to_do(tmp_path: Path) -> None:
    def full(_: BinaryIO) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left") as caught:
        write(tmp_path / "file", full)
    assert re.fullmatch(
        rf"OSError: \[Errno 28\] No space left on device \([\d,]+ of [\d,]+ bytes left\): '{tmp_path}/file'; "
        "make room on the volume",
        describe_failure(caught.value),
    )


@pytest.mark.parametrize("text", ["<", "<>: ", "<>: a (1"])
def test_an_odd_error_is_no_error_of_a_volume(text: str) -> None:
    assert volume_error(RuntimeError(text * 1_000_000)) is None  # with backtracking, hours


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            OSError(errno.EIO, "Input/output error", "/a"),
            "OSError: [Errno 5] Input/output error: '/a'; check the volume",
        ),
        (
            OSError(errno.EROFS, "Read-only file system", "/a"),
            "OSError: [Errno 30] Read-only file system: '/a'; mount the volume so that it can be written to",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device (8 bytes needed, 0 left)", "/a"),
            "OSError: [Errno 28] No space left on device (8 bytes needed, 0 left): '/a'; make room on the volume",
        ),
        (
            OSError(errno.EXDEV, "Invalid cross-device link", "/a", None, "/b"),
            "OSError: [Errno 18] Invalid cross-device link: '/a' -> '/b'",
        ),
        (
            OSError(errno.EDQUOT, "Disk quota exceeded", 3),
            "OSError: [Errno 122] Disk quota exceeded: 3; make room on the volume",
        ),
        (OSError("of a library"), "OSError: of a library"),
        (
            OSError(errno.EIO, "Input/output error", Path("/a")),
            "OSError: [Errno 5] Input/output error: '/a'; check the volume",
        ),
    ],
    ids=["fails", "read-only", "full, with numbers", "two paths", "no path", "without a number", "a Path"],
)
def test_an_error_says_what_to_do_where_that_is_known(error: OSError, sentence: str) -> None:
    assert describe_failure(error) == sentence


def test_who_may_not_write_is_said_with_the_ids_that_need_the_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 2000)
    assert describe_failure(PermissionError(errno.EACCES, "Permission denied", "/a")) == (
        "PermissionError: [Errno 13] Permission denied: '/a'; this process runs as user 1000 and group 2000: make the "
        "folder writable for them, for example with chown, or in a pod with fsGroup"
    )


def test_a_system_without_numbers_of_users_is_told_the_cause_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "geteuid")  # as on Windows
    said = describe_failure(PermissionError(errno.EACCES, "Permission denied", "/a"))
    assert said == "PermissionError: [Errno 13] Permission denied: '/a'"


def test_a_full_volume_is_described_with_its_free_space_if_the_error_names_a_path_object(tmp_path: Path) -> None:
    said = describe_failure(OSError(errno.ENOSPC, "No space left on device", tmp_path))
    assert re.search(rf"device \([\d,]+ of [\d,]+ bytes left\): '{tmp_path}'; make room on the volume$", said)


def test_a_page_that_cannot_be_written_leaves_the_old_one_and_nothing_that_takes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "no room")

    (tmp_path / "page.html").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no room"):
        write_whole(tmp_path / "page.html", "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("page.html", "old")]
