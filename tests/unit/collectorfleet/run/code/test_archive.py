"""An archive is unpacked as it is said to be, or not at all."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from collectorfleet.errors import InfrastructureError, InvalidOption
from collectorfleet.run.code import bounds
from collectorfleet.run.code.archive import write_tree
from collectorfleet.run.code.unpack import clear
from collectorfleet_api.v1alpha1 import Archive


def tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tree:
        for member, content in members:
            member.size = len(content)
            tree.addfile(member, io.BytesIO(content))
    return path


def file(name: str, content: bytes = b"a = 1\n") -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), content


def of(path: Path, **where: str) -> Archive:
    return Archive(**{"config_map": "code", **where}, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def test_a_zip_is_a_tree_too(tmp_path: Path, into: Path) -> None:
    path = tmp_path / "code.zip"
    with zipfile.ZipFile(path, "w") as tree:
        tree.writestr("lib/envs.py", "a = 1")
    write_tree(of(path), path, into)
    assert (into / "lib/envs.py").read_text() == "a = 1"


def test_a_tree_behind_a_url_is_fetched(tmp_path: Path, into: Path, pages: str) -> None:
    path = tar(tmp_path / "code.tar.gz", file("lib/envs.py"))
    write_tree(Archive(url=f"{pages}/code.tar.gz", sha256=of(path).sha256), None, into)
    assert [one.name for one in into.rglob("*.py")] == ["envs.py"]


def test_another_archive_than_that_asked_for_is_not_unpacked(tmp_path: Path, into: Path) -> None:
    path = tar(tmp_path / "code.tar.gz", file("train.py"))
    with pytest.raises(
        InvalidOption, match=r"sha256: expected 0{64}, but spec.code.archive.configMap code, key code.tar.gz has"
    ):
        write_tree(Archive(config_map="code", sha256="0" * 64), path, into)
    assert list(into.iterdir()) == []


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(tarfile.TarInfo("../outside.py"), id="above"),
        pytest.param(tarfile.TarInfo("/tmp/outside.py"), id="absolute"),
    ],
)
def test_nothing_is_written_outside_of_the_folder(tmp_path: Path, into: Path, member: tarfile.TarInfo) -> None:
    path = tar(tmp_path / "code.tar.gz", (member, b""))
    try:
        write_tree(of(path), path, into)
    except InvalidOption as error:
        assert "cannot be unpacked" in str(error)  # noqa: PT017  (refusing is one way, a path inside the other)
    assert not (tmp_path / "outside.py").exists()
    assert not Path("/tmp/outside.py").exists()


def test_a_link_out_of_the_tree_is_refused(tmp_path: Path, into: Path) -> None:
    link = tarfile.TarInfo("envs.py")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    path = tar(tmp_path / "code.tar.gz", (link, b""))
    with pytest.raises(InvalidOption, match=r"cannot be unpacked: .*envs\.py"):
        write_tree(of(path), path, into)


def test_what_is_no_archive_is_said(tmp_path: Path, into: Path) -> None:
    path = tmp_path / "code.tar.gz"
    path.write_text("<html>not found</html>")
    with pytest.raises(InvalidOption, match=r"configMap code, key code\.tar\.gz: the archive cannot be unpacked"):
        write_tree(of(path), path, into)


def test_a_key_that_is_not_there_is_named(tmp_path: Path, into: Path) -> None:
    with pytest.raises(InvalidOption, match=r"ConfigMap code has no code\.tar\.gz in its binaryData"):
        write_tree(Archive(config_map="code", sha256="0" * 64), tmp_path / "code.tar.gz", into)


def test_a_tree_beyond_the_bounds_is_refused_before_it_is_unpacked(
    tmp_path: Path, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tar(tmp_path / "code.tar.gz", *(file(f"{i}.py") for i in range(4)))
    monkeypatch.setattr(bounds, "MOST_FILES", 3)
    with pytest.raises(InvalidOption, match="4 files of 24 bytes unpacked exceed the limit of 3"):
        write_tree(of(path), path, into)
    assert list(into.iterdir()) == []


def test_a_url_without_a_file_is_the_manifests_fault_and_a_server_that_is_away_is_not(into: Path, pages: str) -> None:
    with pytest.raises(InvalidOption, match=r"/nothing\.tar\.gz: 404 File not found"):
        write_tree(Archive(url=f"{pages}/nothing.tar.gz", sha256="0" * 64), None, into)
    with pytest.raises(InfrastructureError, match="refused"):
        write_tree(Archive(url="http://127.0.0.1:9/code.tar.gz", sha256="0" * 64), None, into)


def test_what_an_earlier_try_left_goes(into: Path) -> None:
    (into / "lib").mkdir()
    (into / "lib/old.py").touch()
    (into / "old.py").touch()
    clear(into)
    assert list(into.iterdir()) == []
