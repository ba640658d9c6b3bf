"""What is in the wheel and in the sdist."""

from __future__ import annotations

import re
import tarfile
import zipfile
from pathlib import Path

from tests.built_wheel import PROJECT
from tests.cluster.binaries import ROOT

PACKAGES = {
    "collectorfleet_api": ROOT / "crds/collectorfleet_api",
    "collectorfleet_operator": ROOT / "operator/collectorfleet_operator",
    "collectorfleet": ROOT / "collector_image/collectorfleet",
}
NAME = f"collectorfleet-{PROJECT['version']}"


def sources() -> set[str]:
    """The files of the packages in this tree, as they are imported."""
    return {
        str(Path(package) / file.relative_to(folder))
        for package, folder in PACKAGES.items()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_the_wheel_has_every_file_of_the_packages_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.startswith(f"{NAME}.dist-info/")}
    assert names == sources()
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert wheel.name == f"{NAME}-py3-none-any.whl"


def test_the_sdist_has_what_the_wheel_and_the_images_are_made_from_and_no_tests(wheel: Path) -> None:
    with tarfile.open(wheel.with_name(f"{NAME}.tar.gz")) as archive:
        names = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "crds/collectorfleets.yaml",
        "hatch_build.py",
    } <= names
    assert "operator/manifests/operator.yaml" in names
    assert {name.partition("/")[0] for name in names if "/" in name} == {"collector_image", "crds", "operator"}


def test_links_and_pictures_of_the_package_page_lead_to_the_files_of_its_version(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        page = archive.read(f"{NAME}.dist-info/METADATA").decode()
    targets = re.findall(r"\]\(([^)]+)\)", page)
    version, project = PROJECT["version"], "collectorfleet/collectorfleet"
    assert f"https://raw.githubusercontent.com/{project}/v{version}/docs/live.svg" in targets
    assert f"https://github.com/{project}/blob/v{version}/docs/train.md" in targets
    assert [target for target in targets if not target.startswith("https://")] == []
