"""A folder packs into the same bytes wherever it is, and unpacks into the same files."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.unit.collectorfleet.client.folders import folder

from collectorfleet.client import TooLarge, Tree, pack
from collectorfleet.client.tree import MOST_BYTES
from collectorfleet.run.code.archive import write_tree
from collectorfleet_api.v1alpha1 import Archive

FILES = {"train.py": "import lib.envs\n", "lib/__init__.py": "", "lib/envs.py": "a = 1\n", "lib/data/map.txt": "x"}


def unpacked(tree: Tree, into: Path) -> dict[str, str]:
    into.mkdir()
    archive = into.with_suffix(".tar.gz")
    archive.write_bytes(tree.archive)
    write_tree(Archive(config_map="code", sha256=tree.sha256), archive, into)
    return {path.relative_to(into).as_posix(): path.read_text() for path in into.rglob("*") if path.is_file()}


def test_what_is_packed_is_what_is_unpacked(tmp_path: Path) -> None:
    tree = pack(folder(tmp_path / "a", FILES))
    assert [(file.name, file.size_bytes) for file in tree.files] == [
        ("lib/__init__.py", 0),
        ("lib/data/map.txt", 1),
        ("lib/envs.py", 6),
        ("train.py", 16),
    ]
    assert unpacked(tree, tmp_path / "out") == FILES


def test_the_same_files_make_the_same_archive_whenever_and_wherever(tmp_path: Path) -> None:
    one, other = folder(tmp_path / "a", FILES), folder(tmp_path / "b", dict(reversed(FILES.items())))
    os.utime(other / "train.py", (0, 0))
    (other / "lib/envs.py").chmod(0o600)
    (other / "train.py").chmod(0o755)
    assert pack(one) == pack(other)
    (other / "train.py").write_text("import lib.envs  # changed\n")
    assert pack(one).sha256 != pack(other).sha256


def test_the_manifest_is_no_code(tmp_path: Path) -> None:
    root = folder(tmp_path / "a", {**FILES, "fleet.yaml": "kind: CollectorFleet"})
    assert unpacked(pack(root, without=[root / "fleet.yaml"]), tmp_path / "out") == FILES


def test_the_config_map_is_named_by_what_is_in_it_and_the_fleet_by_its_digest(tmp_path: Path) -> None:
    tree = pack(folder(tmp_path / "a", FILES))
    found = tree.config_map("cheetah")
    assert found["metadata"]["name"] == f"cheetah-code-{tree.sha256[:10]}"
    assert found["immutable"]
    assert tree.code("cheetah", "src") == {
        "archive": {"configMap": found["metadata"]["name"], "key": "code.tar.gz", "sha256": tree.sha256},
        "path": "src",
    }


def test_what_does_not_fit_is_said_with_the_largest_files(tmp_path: Path) -> None:
    root = folder(tmp_path / "a", {**FILES, **{f"{n}.txt": "x" * n for n in (10, 20, 30, 40)}})
    (root / "weights.json").write_bytes(random.Random(0).randbytes(2 * MOST_BYTES))
    with pytest.raises(TooLarge) as refused:
        pack(root)
    assert str(refused.value).startswith(
        f"{root}: 9 files have 1,433,723 bytes, but a ConfigMap has room for 716,800 bytes after compression; "
        "the largest are weights.json (1,433,600), 40.txt (40), 30.txt (30), 20.txt (20), train.py (16); name files"
    )


def test_files_that_cannot_fit_are_not_read(tmp_path: Path) -> None:
    root = folder(tmp_path / "a", {**FILES, "zeros.txt": ""})
    os.truncate(root / "zeros.txt", 2**40)
    with pytest.raises(TooLarge, match=r"at most 16,777,216 bytes are packed; .* zeros\.txt \(1,099,511,627,776\)"):
        pack(root)


def test_code_that_fits_once_it_is_packed_is_packed(tmp_path: Path) -> None:
    root = folder(tmp_path / "a", {"train.py": "a = 1\n" * MOST_BYTES})
    assert unpacked(pack(root), tmp_path / "out") == {"train.py": "a = 1\n" * MOST_BYTES}
