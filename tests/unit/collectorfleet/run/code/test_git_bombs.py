"""Commits that unpack to more than anybody has room for are refused with numbers, before memory or disk is used up."""

from __future__ import annotations

import io
import subprocess
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.git_repository import Repository
from tests.gitops.git_http import served

from collectorfleet.errors import InfrastructureError, InvalidOption
from collectorfleet.run.code import bounds, pack_bounds
from collectorfleet.run.code.bounds import Bounds
from collectorfleet.run.code.git import write_tree
from collectorfleet.run.code.pack_bounds import BadPack, check_pack
from collectorfleet_api.v1alpha1 import Git

LEVELS = 20
WIDTH = 10


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with served(tmp_path) as url:
        yield url


def made(repository: Repository, words: list[str], text: str) -> str:
    """What git answers to ``words`` with this input."""
    done = subprocess.run(["git", *words], cwd=repository.tree, input=text, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit_of(repository: Repository, leaf: str) -> str:
    """A commit whose tree has ten folders, each of which is the same tree with ten, and so on down to ``leaf``."""
    tree = made(repository, ["mktree"], leaf)
    for _ in range(LEVELS):
        tree = made(repository, ["mktree"], "".join(f"040000 tree {tree}\td{n}\n" for n in range(WIDTH)))
    commit = repository.git("commit-tree", tree, "-m", "bomb")
    repository.git("push", "--quiet", str(repository.bare), f"{commit}:refs/heads/bomb")
    return commit


@pytest.mark.parametrize("has_file", [True, False], ids=["of files", "of folders alone"])
def test_a_tree_that_repeats_itself_is_refused_by_the_number_of_its_folders(
    repository: Repository, address: str, into: Path, monkeypatch: pytest.MonkeyPatch, *, has_file: bool
) -> None:
    monkeypatch.setattr(bounds, "MOST_FILES", 500)
    blob = made(repository, ["hash-object", "-w", "--stdin"], "a = 1\n")
    commit = commit_of(repository, f"100644 blob {blob}\ta.py\n" if has_file else "")
    with pytest.raises(InvalidOption, match=r"lab\.git at [0-9a-f]{40}: 5\d\d files of 0 bytes unpacked exceed"):
        write_tree(Git(repository=f"{address}/lab.git", commit=commit), None, into)


def test_a_tree_deeper_than_a_path_is_long_is_refused(repository: Repository, address: str, into: Path) -> None:
    tree = made(repository, ["mktree"], "")
    for _ in range(8):
        tree = made(repository, ["mktree"], f"040000 tree {tree}\t{'d' * 200}\n")
    commit = repository.git("commit-tree", tree, "-m", "deep")
    repository.git("push", "--quiet", str(repository.bare), f"{commit}:refs/heads/deep")
    with pytest.raises(InvalidOption, match=r"the tree cannot be written: .* a path of more than 1024"):
        write_tree(Git(repository=f"{address}/lab.git", commit=commit), None, into)


def test_a_folder_of_too_many_names_is_refused_before_they_are_read(
    repository: Repository, address: str, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MOST_FOLDER_BYTES", 100)
    commit = repository.commit(**{f"module{number}": "" for number in range(10)})
    with pytest.raises(InvalidOption, match=r": the names in a folder take \d+ bytes, more than the limit of 100; put"):
        write_tree(Git(repository=f"{address}/lab.git", commit=commit), None, into)


def test_a_huge_file_that_compresses_well_is_refused_before_it_is_unpacked(
    repository: Repository, address: str, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 16 * 2**20
    monkeypatch.setattr(bounds, "MOST_INFLATED_BYTES", size - 2**20)
    with (repository.tree / "zeros.bin").open("wb") as zeros:
        zeros.truncate(size)
    commit = repository.commit()
    tracemalloc.start()
    try:
        with pytest.raises(InvalidOption, match=r": objects of 16,77\d,\d{3} bytes, unpacked from \d{2},\d{3} fetched"):
            write_tree(Git(repository=f"{address}/lab.git", commit=commit), None, into)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * 2**20
    assert list(into.iterdir()) == []


def test_more_objects_than_a_tree_can_have_are_refused_before_one_is_read(
    repository: Repository, address: str, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack_bounds, "MOST_OBJECTS", 3)
    commit = repository.commit(one="a = 1\n", two="b = 2\n")
    with pytest.raises(InvalidOption, match=": 4 objects exceed the limit of 3; put data on a volume"):
        write_tree(Git(repository=f"{address}/lab.git", commit=commit), None, into)


@pytest.fixture
def pack(repository: Repository) -> Path:
    """A pack of git's with deltas against objects before them, and against objects by their digests."""
    lines = [f"value_{number} = {number * 7919 % 1000}\n" for number in range(400)]
    repository.commit(long="".join(lines))
    repository.commit(long="".join([*lines[:200], "changed = 1\n", *lines[200:]]))
    repository.git("repack", "-adf", "--depth=50", "--window=50")
    (found,) = (repository.tree / ".git/objects/pack").glob("*.pack")
    return found


def test_a_delta_counts_as_the_object_that_it_makes(pack: Path, repository: Repository) -> None:
    sizes = repository.git("cat-file", "--batch-all-objects", "--batch-check=%(objectsize) %(deltabase)")
    rows = [line.split() for line in sizes.splitlines()]
    assert any(set(base) != {"0"} for _, base in rows)
    counted = Bounds("spec.code.git")
    with pack.open("rb") as file:
        check_pack(file, 20, counted)
        assert file.tell() == pack.stat().st_size
    whole = sum(int(size) for size, _ in rows)
    assert whole <= counted.inflated_bytes < whole + 200  # and the deltas themselves


class CutPack(io.BytesIO):
    """A pack whose reads end at the byte ``cut``, as they end after each 64 KiB of a large pack."""

    def __init__(self, data: bytes, cut: int) -> None:
        super().__init__(data)
        self._cut = cut

    def read(self, size: int | None = -1) -> bytes:
        before = self._cut - self.tell()
        return super().read(min(before, size or 0) if before > 0 else size)


def test_a_pack_may_be_read_in_pieces_that_end_at_any_byte(pack: Path) -> None:
    data, whole = pack.read_bytes(), Bounds("spec.code.git")
    check_pack(io.BytesIO(data), 20, whole)
    for cut in range(12, len(data)):
        in_pieces = Bounds("spec.code.git")
        check_pack(CutPack(data, cut), 20, in_pieces)
        assert in_pieces.inflated_bytes == whole.inflated_bytes


@pytest.mark.parametrize("kept", [0, 8, 11, 12, 13, 40, 200])
def test_a_pack_that_is_cut_off_is_said_to_be(pack: Path, tmp_path: Path, kept: int) -> None:
    short = tmp_path / "short.pack"
    short.write_bytes(pack.read_bytes()[:kept])
    with short.open("rb") as file, pytest.raises(BadPack, match=r"the pack is cut off|the pack has no header"):
        check_pack(file, 20, Bounds("spec.code.git"))


def test_a_damaged_pack_is_asked_for_again_by_kubernetes(
    repository: Repository, address: str, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> None:
        raise BadPack("the pack is cut off")

    commit = repository.commit(one="a = 1\n")
    monkeypatch.setattr("collectorfleet.run.code.git.check_pack", damaged)
    with pytest.raises(InfrastructureError, match="the server sent damaged objects: BadPack: the pack is cut off"):
        write_tree(Git(repository=f"{address}/lab.git", commit=commit), None, into)
