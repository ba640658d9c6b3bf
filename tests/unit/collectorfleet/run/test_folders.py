"""Removing what other processes write at the same time."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from collectorfleet.run import folders
from collectorfleet.run.folders import remove

_rmtree = shutil.rmtree


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_PAUSE_SECONDS", 0.0)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made = tmp_path / "staging"
    made.mkdir()
    (made / "part").touch()
    return made


def make_folder(path: Path) -> None:
    path.mkdir()


def make_link_to_nothing(path: Path) -> None:
    path.symlink_to("nothing")


def after_each_removal(monkeypatch: pytest.MonkeyPatch, does: Callable[[Path], None], times: int) -> None:
    """Have another process make something at the path, right after it is removed."""
    left = [None] * times

    def rmtree(path: Path) -> None:
        _rmtree(path)
        interfere(path)

    unlink = Path.unlink

    def unlinked(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        interfere(path)

    def interfere(path: Path) -> None:
        if left:
            left.pop()
            does(path)

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    monkeypatch.setattr(Path, "unlink", unlinked)


@pytest.mark.parametrize("does", [make_folder, Path.touch, make_link_to_nothing])
def test_what_is_made_again_and_again_is_an_error_that_names_it(
    does: Callable[[Path], None], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_each_removal(monkeypatch, does, times=1000)
    with pytest.raises(OSError, match="another process creates it again") as raised:
        remove(place)
    assert raised.value.filename == str(place)


@pytest.mark.parametrize("does", [make_folder, Path.touch, make_link_to_nothing])
def test_what_is_made_again_for_some_time_is_removed_in_the_end(
    does: Callable[[Path], None], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_each_removal(monkeypatch, does, times=5)
    remove(place)
    assert list(place.parent.iterdir()) == []


def test_a_folder_that_becomes_a_file_while_it_is_removed_is_removed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rmtree(path: Path) -> None:
        monkeypatch.setattr(shutil, "rmtree", _rmtree)
        _rmtree(path)
        path.touch()
        _rmtree(path)

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    remove(place)
    assert not place.exists()


def test_a_file_that_becomes_a_folder_while_it_is_removed_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, unlink = tmp_path / "file", Path.unlink
    place.touch()

    def unlinked(path: Path, missing_ok: bool = False) -> None:
        monkeypatch.setattr(Path, "unlink", unlink)
        path.unlink()
        path.mkdir()
        path.unlink(missing_ok)

    monkeypatch.setattr(Path, "unlink", unlinked)
    remove(place)
    assert not place.exists()
