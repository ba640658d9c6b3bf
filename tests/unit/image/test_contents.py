"""What the tests of the images see in one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.images import contents

SITE = "opt/collectorfleet/venv/lib/python3.11/site-packages"


def put(root: Path, path: str, size: int = 1, mode: int = 0o644) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x" * size)
    file.chmod(mode)
    return file


@pytest.mark.parametrize(
    ("path", "part"),
    [
        (f"/{SITE}/torch/lib/libtorch.so", "torch"),
        (f"/{SITE}/nvidia/cudnn/lib/libcudnn.so.9", "CUDA libraries that torch asks for"),
        (f"/{SITE}/collectorfleet_api/names.py", "CollectorFleet"),
        (f"/{SITE}/numpy/core.py", contents.OTHER_PACKAGES),
        (f"/{SITE}/own.pth", contents.OTHER_PACKAGES),
        ("/usr/bin/python3", contents.SYSTEM),
    ],
)
def test_each_file_belongs_to_one_part(path: str, part: str) -> None:
    assert contents.part_of(path) == part


def test_a_file_with_two_names_counts_once_and_a_link_not_at_all(tmp_path: Path) -> None:
    file = put(tmp_path, "usr/lib/libc.so", 100)
    os.link(file, tmp_path / "usr/lib/libc.so.6")
    (tmp_path / "usr/lib/libc").symlink_to("libc.so")
    put(tmp_path, f"{SITE}/ray/core.so", 30)
    assert contents.sizes(tmp_path) == {contents.SYSTEM: 100, "Ray": 30}


def test_a_file_that_makes_who_runs_it_another_user_is_found(tmp_path: Path) -> None:
    put(tmp_path, "bin/su", mode=0o4755)
    put(tmp_path, "bin/wall", mode=0o2755)
    put(tmp_path, "bin/ls", mode=0o755)
    assert sorted(contents.changing_users(tmp_path)) == ["/bin/su", "/bin/wall"]


def test_a_library_to_link_against_is_found(tmp_path: Path) -> None:
    put(tmp_path, "usr/lib/libcudart_static.a")
    put(tmp_path, "usr/lib/libcudart.so")
    assert contents.static_libraries(tmp_path) == ["/usr/lib/libcudart_static.a"]


def test_a_folder_that_others_may_write_to_is_found_once(tmp_path: Path) -> None:
    for path in ("opt/own/lib", "srv", "tmp"):
        (tmp_path / path).mkdir(parents=True)
    for path in ("opt/own", "opt/own/lib", "tmp"):
        (tmp_path / path).chmod(0o777)
    nobody = os.getuid() + 1
    assert contents.writable(tmp_path, nobody) == ["/opt/own"]
