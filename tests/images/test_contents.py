"""What is in the images, and what is not."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.common import tables
from tests.cluster import binaries, image_build
from tests.cluster.binaries import ROOT
from tests.cluster.thin_images import COLLECTOR_USER, OPERATOR_USER
from tests.images import contents
from tests.images.conftest import COLLECTOR, OPERATOR

pytestmark = pytest.mark.timeout(3600)

_BEGIN, _END = "<!-- written by make test-images -->", "<!-- end of what it wrote -->"
# What a container's user may write to where nothing is mounted; the root file system may be read-only all the same.
WRITABLE = {
    OPERATOR: [],
    COLLECTOR: ["/home/collector", "/opt/own"],
}
USERS = {OPERATOR: OPERATOR_USER, COLLECTOR: COLLECTOR_USER}
# A package that each image cannot do without.
PACKAGE = {OPERATOR: "kopf", COLLECTOR: "ray"}


@pytest.fixture(params=[OPERATOR, COLLECTOR], ids=["operator", "collector"])
def image(request: pytest.FixtureRequest, images: tuple[str, ...]) -> str:
    assert request.param in images
    found: str = request.param
    return found


@pytest.fixture
def root(image: str) -> Iterator[Path]:
    with image_build.mounted(image) as folder:
        yield folder


def test_nobody_becomes_another_user_or_root(image: str, root: Path) -> None:
    assert contents.changing_users(root) == []
    assert image_build.config(image)["User"] == f"{USERS[image]}:{USERS[image]}"


def test_its_user_may_write_to_nothing_that_is_run(image: str, root: Path) -> None:
    assert contents.writable(root, USERS[image]) == WRITABLE[image]


def test_nothing_is_in_it_to_link_against(root: Path) -> None:
    assert [path for path in contents.static_libraries(root) if "/site-packages/" in path] == []


def test_nothing_of_the_machine_that_built_it_is_in_it(root: Path) -> None:
    assert not (root / "etc/pip.conf").exists() or (root / "etc/pip.conf").read_text() == ""
    assert [path for path in root.glob("root/.cache/**/*") if path.is_file()] == []


def test_its_labels_say_what_it_is(image: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    labels = image_build.config(image)["Labels"]
    assert labels["org.opencontainers.image.version"] == project["version"]
    assert labels["org.opencontainers.image.licenses"] == project["license"]


def test_its_bill_of_materials_names_what_is_installed_and_the_system_below(image: str, root: Path) -> None:
    if reason := binaries.missing([binaries.SYFT]):
        pytest.skip(f"left out the bill of materials: {reason}")
    syft = binaries.build(binaries.SYFT) / "syft"
    words = [syft, "scan", f"dir:{root}", "--output=spdx-json", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={"SYFT_CHECK_FOR_APP_UPDATE": "false"})
    found = {(one["name"], one.get("versionInfo")) for one in json.loads(done.stdout)["packages"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert ("collectorfleet", project["version"]) in found
    names = {name for name, _ in found}
    assert {PACKAGE[image], "libc6"} <= names


def test_sizes(images: tuple[str, ...], request: pytest.FixtureRequest) -> None:
    found = {}
    for image in images:
        with image_build.mounted(image) as folder:
            found[image] = contents.sizes(folder)
    # What torch needs of CUDA is most of the image, and not ours to leave out: of the rest this is what there is.
    assert found[OPERATOR].total() < 500e6
    assert set(found[COLLECTOR]) >= {"torch", "Ray", "Triton", "CollectorFleet"}
    shown = table(found)
    print(f"\n{shown}")
    if page := request.config.getoption("--write"):
        write(Path(page), shown)


def table(found: dict[str, Counter[str]]) -> str:
    parts = sorted(found[COLLECTOR] | found[OPERATOR], key=lambda part: -found[COLLECTOR][part])
    cells = [(part, *(_megabytes(found[image][part]) for image in (COLLECTOR, OPERATOR))) for part in parts]
    cells.append(("**all, on disk**", *(f"**{_megabytes(found[image].total())}**" for image in (COLLECTOR, OPERATOR))))
    return tables.table(("MB", "collector image", "operator"), cells)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f}" if size >= 1e6 else "-" if not size else "< 1"


def write(page: Path, text: str) -> None:
    """Put the table into the page, between its marks."""
    before, _, rest = page.read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    page.write_text(f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}")
