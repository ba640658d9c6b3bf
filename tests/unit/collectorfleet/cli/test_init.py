"""``collectorfleet init``: a folder that works at once. `tests/run/test_init.py` trains it."""

from __future__ import annotations

import ast
import errno
import io
import tarfile
from pathlib import Path

import pytest

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.init import KINDS
from collectorfleet.cli.main import main
from collectorfleet.cli.version import version
from collectorfleet.client import pack
from collectorfleet_api.manifests.files import load_file

FILES = {
    *("environment.py", "policy.py", "train.py", "test_project.py", "fleet.yaml"),
    *("README.md", ".gitignore", ".collectorfleetignore"),
}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_project_is_valid_and_its_code_is_beside_it(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "my-fleet", "--from", kind]) == 0
    assert capsys.readouterr().out == (
        "my-fleet has a fleet that trains; `collectorfleet run my-fleet` runs the fleet on this machine\n"
    )
    folder = Path("my-fleet")
    assert {file.name for file in folder.iterdir()} == FILES
    assert main(["validate", "my-fleet"]) == 0
    assert capsys.readouterr().out == "my-fleet/fleet.yaml: fleet my-fleet is valid\n"
    (fleet,) = load_file(folder / "fleet.yaml").fleets
    assert fleet.spec.image == f"ghcr.io/collectorfleet/collectorfleet:{version()}"
    defined = {file.stem: functions(file) for file in folder.glob("*.py")}
    if fleet.spec.driver.script:
        assert (folder / fleet.spec.driver.script).is_file()
    else:
        assert fleet.spec.environment is not None
        assert fleet.spec.policy is not None
        assert fleet.spec.driver.train is not None
        for path in (fleet.spec.environment.factory, fleet.spec.policy.factory, fleet.spec.driver.train.function):
            module, _, function = path.partition(":")
            assert function in defined[module]


def functions(file: Path) -> set[str]:
    """The functions of a file that Python can compile."""
    tree = ast.parse(file.read_text())
    compile(tree, file.name, "exec")
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_what_is_no_code_is_not_submitted() -> None:
    main(["init", "my-fleet"])
    folder = Path("my-fleet")
    packed = pack(folder, without=[folder / "fleet.yaml"]).archive
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        assert sorted(archive.getnames()) == ["environment.py", "policy.py", "train.py"]


@pytest.mark.parametrize("name", ["My-fleet", "1st", "a_b", "-a", "a-", "a.b", "../a", "a" * 51, "a: b", "$name", ""])
def test_a_name_that_kubernetes_refuses_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "--", name]) == 64
    assert capsys.readouterr().err == (
        f"error: {name!r} cannot name a fleet; use up to 50 lower-case letters, digits and '-', "
        "starting with a letter and ending in a letter or digit\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_the_longest_name_is_valid() -> None:
    name = "a" * 50
    assert main(["init", name]) == 0
    assert main(["validate", name]) == 0


def test_a_folder_with_files_is_refused_and_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path("mine")
    folder.mkdir()
    assert main(["init", "mine"]) == 0
    (folder / "train.py").write_text("mine")
    capsys.readouterr()
    assert main(["init", "mine"]) == 64
    assert capsys.readouterr().err == ("error: mine: the folder is not empty; take another name, or empty the folder\n")
    assert (folder / "train.py").read_text() == "mine"


def test_a_file_in_the_place_of_the_folder_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").touch()
    assert main(["init", "mine"]) == 64
    assert capsys.readouterr().err == "error: mine: Not a directory\n"


def test_a_project_that_does_not_fit_leaves_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = Path.write_text

    def full(path: Path, *words: str, **options: str) -> int:
        if path.name == "train.py":
            write(path, "a half")
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write(path, *words, **options)

    monkeypatch.setattr(Path, "write_text", full)
    (tmp_path / "own").mkdir()
    for name in ("own", "new"):
        assert main(["init", name]) == ExitCode.FAILED
        assert capsys.readouterr().err == f"error: {name}/train.py: No space left on device\n"
    assert list(tmp_path.rglob("*")) == [tmp_path / "own"]


def test_a_folder_without_a_manifest_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert main(["validate", "empty"]) == 64
    assert capsys.readouterr().err == "error: empty/fleet.yaml: No such file or directory\n"
