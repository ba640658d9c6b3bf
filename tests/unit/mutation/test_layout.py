from __future__ import annotations

from pathlib import Path

import pytest
from tests.mutation import layout

ROOT = Path(__file__).parents[3]


def test_a_package_has_its_modules_and_a_module_itself() -> None:
    packing = layout.modules_of("collectorfleet_api.packing", ROOT)
    assert Path("crds/collectorfleet_api/packing/groups.py") in packing
    assert packing == sorted(packing)
    assert layout.modules_of("collectorfleet.run.stop", ROOT) == [Path("collector_image/collectorfleet/run/stop.py")]


def test_a_module_is_tested_by_the_folder_that_mirrors_its_own_or_the_nearest_above(tmp_path: Path) -> None:
    module = Path("crds/collectorfleet_api/rules/combinations/table.py")
    near, far = tmp_path / "tests/unit/collectorfleet_api/rules", tmp_path / "tests/unit/collectorfleet_api"
    far.mkdir(parents=True)
    assert layout.tests_of(module, tmp_path) == Path("tests/unit/collectorfleet_api")
    near.mkdir()
    assert layout.tests_of(module, tmp_path) == Path("tests/unit/collectorfleet_api/rules")


@pytest.mark.parametrize("package", ["collectorfleet_api.nothing", "torch.nn"])
def test_a_package_that_does_not_exist_is_named(package: str) -> None:
    with pytest.raises(FileNotFoundError, match=f"PACKAGE={package}: "):
        layout.modules_of(package, ROOT)


def test_a_module_without_unit_tests_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"crds/collectorfleet_api/names\.py: no folder"):
        layout.tests_of(Path("crds/collectorfleet_api/names.py"), tmp_path)
