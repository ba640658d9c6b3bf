"""Archives that containerd imports: every name of an image, one copy of its content."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest
from tests.cluster.images import Image, Layer, write_archive


def test_an_image_is_in_the_archive_once_under_all_its_names(tmp_path: Path) -> None:
    layer = Layer()
    layer.file("/hello", b"hello\n")
    write_archive([Image(("a.test/one:1", "a.test/two:2"), layer)], tmp_path / "archive.tar")
    with tarfile.open(tmp_path / "archive.tar") as archive:
        index = archive.extractfile("index.json")
        assert index is not None
        manifests = json.load(index)["manifests"]
        blobs = [name for name in archive.getnames() if name.startswith("blobs/")]
    assert [m["annotations"]["io.containerd.image.name"] for m in manifests] == ["a.test/one:1", "a.test/two:2"]
    assert len({m["digest"] for m in manifests}) == 1
    assert len(blobs) == 3  # layer, config, manifest


def test_a_folder_stands_in_the_layer_before_what_is_in_it_and_once() -> None:
    layer = Layer()
    layer.file("/opt/tool/bin/run", b"", mode=0o755)
    layer.folder("/opt/tool")
    layer.link("/opt/tool/latest", "bin")
    with tarfile.open(fileobj=io.BytesIO(layer.pack())) as tar:
        assert tar.getnames() == ["opt", "opt/tool", "opt/tool/bin", "opt/tool/bin/run", "opt/tool/latest"]


def test_a_mode_that_comes_too_late_is_refused() -> None:
    layer = Layer()
    layer.file("/tmp/inside", b"")
    with pytest.raises(ValueError, match="/tmp is in the layer already"):
        layer.folder("/tmp", mode=0o1777)
