"""Where the modules of a package are, and which unit tests mirror a module."""

from __future__ import annotations

from pathlib import Path

ROOTS = {
    "collectorfleet_api": Path("crds"),
    "collectorfleet_operator": Path("operator"),
    "collectorfleet": Path("collector_image"),
}
TESTS = Path("tests/unit")


def modules_of(package: str, checkout: Path) -> list[Path]:
    """The files of a dotted package or module, relative to the checkout, in alphabetical order.

    Raises:
        FileNotFoundError: there is none.
    """
    folder = _root(package) / Path(*package.split("."))
    if (checkout / folder.with_suffix(".py")).is_file():
        return [folder.with_suffix(".py")]
    found = sorted((checkout / folder).rglob("*.py"))
    if not found:
        raise FileNotFoundError(f"PACKAGE={package}: neither {folder} nor {folder}.py exists")
    return [path.relative_to(checkout) for path in found]


def tests_of(module: Path, checkout: Path) -> Path:
    """The folder of unit tests that mirrors the module's folder, or the nearest one above that exists.

    Raises:
        FileNotFoundError: not even the package has one.
    """
    folder = TESTS.joinpath(*module.parts[1:-1])
    while folder != TESTS:
        if (checkout / folder).is_dir():
            return folder
        folder = folder.parent
    raise FileNotFoundError(f"{module}: no folder below {TESTS} mirrors it")


def _root(package: str) -> Path:
    top = package.partition(".")[0]
    if top not in ROOTS:
        raise FileNotFoundError(f"PACKAGE={package}: {top} is none of {', '.join(ROOTS)}")
    return ROOTS[top]
