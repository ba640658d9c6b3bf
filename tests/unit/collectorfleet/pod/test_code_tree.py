"""The container that unpacks the code: its last word is a digest, or why there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectorfleet.client.tree import pack
from collectorfleet.pod.code_tree import main
from collectorfleet.run.code.tree import Mounts
from collectorfleet_api.names import EXIT_USER_ERROR


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    (tmp_path / "tree/lab").mkdir(parents=True)
    (tmp_path / "tree/lab/envs.py").write_text("a = 1\n")
    folder = tmp_path / "archives"
    folder.mkdir()
    (folder / "code.tar.gz").write_bytes(pack(tmp_path / "tree").archive)
    return folder


def test_the_tree_is_there_and_its_digest_is_the_last_word_also_the_second_time(tmp_path: Path, archives: Path) -> None:
    settings = json.dumps(pack(tmp_path / "tree").code("run"))
    mount, word = tmp_path / "mount", tmp_path / "word"
    mount.mkdir()
    for _ in range(2):
        assert main(settings, mount, Mounts(archives, tmp_path, tmp_path), word) == 0
        assert [path.name for path in mount.rglob("*.py")] == ["envs.py"]
    assert word.read_text() == f"sha256:{pack(tmp_path / 'tree').sha256}"


def test_why_there_is_no_tree_is_the_last_word_and_trying_again_would_not_help(tmp_path: Path, archives: Path) -> None:
    (tmp_path / "mount").mkdir()
    word = tmp_path / "word"
    settings = json.dumps({"archive": {"configMap": "tree", "sha256": "0" * 64}})
    assert main(settings, tmp_path / "mount", Mounts(archives, tmp_path, tmp_path), word) == EXIT_USER_ERROR
    assert word.read_text().startswith(
        f"spec.code.archive.sha256: expected {'0' * 64}, but spec.code.archive.configMap tree"
    )
