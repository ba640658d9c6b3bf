"""A folder packs into the same bytes wherever it is, and unpacks into the same files."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from collectorfleet.client.tree import MOST_BYTES, TooLarge, Tree, pack
from collectorfleet.run.code.archive import put
from collectorfleet_api.v1alpha1 import Archive

FILES = {"train.py": "import lib.envs\n", "lib/__init__.py": "", "lib/envs.py": "a = 1\n", "lib/data/map.txt": "x"}


def folder(path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def unpacked(tree: Tree, into: Path) -> dict[str, str]:
    into.mkdir()
    archive = into.with_suffix(".tar.gz")
    archive.write_bytes(tree.archive)
    put(Archive(config_map="code", sha256=tree.sha256), archive, into)
    return {path.relative_to(into).as_posix(): path.read_text() for path in into.rglob("*") if path.is_file()}


def test_what_is_packed_is_what_is_unpacked(tmp_path: Path) -> None:
    tree = pack(folder(tmp_path / "a", FILES))
    assert tree.files == 4
    assert unpacked(tree, tmp_path / "out") == FILES


def test_the_same_files_make_the_same_archive_whenever_and_wherever(tmp_path: Path) -> None:
    one, other = folder(tmp_path / "a", FILES), folder(tmp_path / "b", dict(reversed(FILES.items())))
    os.utime(other / "train.py", (0, 0))
    (other / "lib/envs.py").chmod(0o600)
    assert pack(one) == pack(other)
    (other / "train.py").write_text("import lib.envs  # changed\n")
    assert pack(one).sha256 != pack(other).sha256


def test_what_nobody_imports_is_left_out(tmp_path: Path) -> None:
    of_no_use = dict.fromkeys(
        (".git/config", ".venv/lib/x.py", "lib/__pycache__/envs.pyc", ".env", "x.egg-info/PKG"), ""
    )
    ignored = {
        ".collectorfleetignore": "# large\ndata/\n*.pt\nlib/old.py\n",
        "data/big": "",
        "model.pt": "",
        "lib/old.py": "",
    }
    root = folder(tmp_path / "a", {**FILES, **of_no_use, **ignored, "fleet.yaml": "kind: CollectorFleet"})
    assert unpacked(pack(root, without=[root / "fleet.yaml"]), tmp_path / "out") == {
        name: text for name, text in FILES.items() if name != "lib/data/map.txt"
    }


def test_the_config_map_is_named_by_what_is_in_it_and_the_fleet_by_its_digest(tmp_path: Path) -> None:
    tree = pack(folder(tmp_path / "a", FILES))
    found = tree.config_map("cheetah")
    assert found["metadata"]["name"] == f"cheetah-code-{tree.sha256[:10]}"
    assert found["immutable"]
    assert tree.code("cheetah", "src") == {
        "archive": {"configMap": found["metadata"]["name"], "key": "code.tar.gz", "sha256": tree.sha256},
        "path": "src",
    }


def test_what_does_not_fit_is_said_with_its_size(tmp_path: Path) -> None:
    root = folder(tmp_path / "a", FILES)
    (root / "weights.bin").write_bytes(random.Random(0).randbytes(2 * MOST_BYTES))
    with pytest.raises(TooLarge, match=r"5 files are 1,4\d\d,\d\d\d bytes packed, and a ConfigMap holds 716,800: name"):
        pack(root).config_map("cheetah")
