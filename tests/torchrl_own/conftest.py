"""Where TorchRL's own tests are: nothing is fetched here."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torchrl", metavar="FOLDER", default="", help="a checkout of TorchRL at the installed version")


@pytest.fixture(scope="session")
def their_tests(request: pytest.FixtureRequest) -> Path:
    given = request.config.getoption("--torchrl")
    if not given:
        pytest.skip(
            "left out TorchRL's own tests: make test-torchrl TORCHRL=FOLDER, a checkout of the installed version"
        )
    folder = Path(given).resolve() / "test"
    assert (folder / "test_distributed.py").is_file(), f"{given} is no checkout of TorchRL"
    return folder
