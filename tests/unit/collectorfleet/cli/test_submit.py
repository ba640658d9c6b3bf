"""``collectorfleet submit``: what it packs, said before a cluster is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.manifests import manifest
from tests.unit.collectorfleet.cli.files import written
from tests.unit.collectorfleet.client.folders import files, folder

from collectorfleet.cli.main import main


@pytest.fixture(autouse=True)
def no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "no kubeconfig"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = folder(tmp_path / "project", {"src/lab/envs.py": "a = 1\n", "model.pt": "x" * 1234, "run.sh": ""})
    written(path, manifest())
    return path


def test_a_dry_run_lists_the_files_with_sizes_and_asks_no_cluster(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["submit", str(project), "--path", "src", "--include", "*.pt", "--dry-run"]
    assert main(words) == 0
    said = capsys.readouterr()
    listed, summary = said.out.splitlines()[:2], said.out.splitlines()[2]
    assert listed == ["       1,234  model.pt", "           6  src/lab/envs.py"]
    assert summary.startswith("2 files of 1,240 bytes are ")
    assert summary.endswith(" bytes packed; nothing was submitted")
    assert said.err == "1 file of another type is not packed: run.sh; --include packs it\n"


@pytest.mark.parametrize(
    ("script", "path", "named"),
    [
        pytest.param("lab/envs.py", "src", "", id="packed"),
        pytest.param("src/lab/envs.py", None, "", id="packed without a path"),
        pytest.param("/opt/own/train.py", "src", "", id="in the image"),
        pytest.param("train.py", "src", "src/train.py", id="no such file"),
        pytest.param("run.py", None, "run.py", id="left out"),
        pytest.param("src/lab/envs.py", "src", "src/src/lab/envs.py", id="path given twice"),
    ],
)
def test_a_script_that_is_not_packed_is_a_warning(
    project: Path, capsys: pytest.CaptureFixture[str], script: str, path: str | None, named: str
) -> None:
    made = manifest()
    spec = {key: made["spec"][key] for key in ("image", "collectors")} | {"driver": {"script": script}}
    file = written(project, {**made, "spec": spec})
    folder(project, {"run.py": "", ".collectorfleetignore": "run.py\nmodel.pt\nrun.sh\n"})
    assert main(["submit", str(project), "--dry-run", *(["--path", path] if path else [])]) == 0
    assert capsys.readouterr().err == (
        f"{file}: warning: spec.driver.script: {named} is not packed, so the driver looks for the script only in the "
        "image; correct the path, or pack the file with --include\n"
        if named
        else ""
    )


@pytest.mark.parametrize("words", [[], ["--dry-run"]], ids=["submit", "dry run"])
@pytest.mark.parametrize(
    ("more", "options", "sentences"),
    [
        pytest.param(
            {"id_rsa": "", "data": "-> /"},
            ["--include", "*.npz"],
            ["1 file looks like a key or a secret", "1 symbolic link cannot be packed", "--include *.npz: no file in"],
            id="every problem with the folder",
        ),
        pytest.param({}, ["--path", "lib"], ["--path lib: "], id="no such path"),
        pytest.param({"lib/x.so": ""}, ["--path", "lib"], ["--path lib: no file of this folder is packed"], id="path"),
        pytest.param({}, ["--path", ".."], ["--path ..: no file of this folder is packed"], id="a path that leads out"),
    ],
)
def test_what_is_not_packed_is_refused_before_a_cluster_is_asked(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    more: dict[str, str],
    options: list[str],
    sentences: list[str],
) -> None:
    folder(project, more)
    assert main(["submit", str(project), *options, *words]) == 64
    said = capsys.readouterr()
    assert said.out == ""
    errors = [line for line in said.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == len(sentences)
    assert all(sentence in error for sentence, error in zip(sentences, errors, strict=True))


def test_a_dry_run_refuses_a_manifest_with_other_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder(tmp_path / "project", files("a.py"))
    written(path, manifest({"spec.code": {"configMap": "code"}}))
    assert main(["submit", str(path), "--dry-run"]) == 64
    assert "spec.code: `submit` packs the code itself; remove code from the manifest" in capsys.readouterr().err


@pytest.mark.parametrize("metadata", [None, "code", [], {}, {"name": None}, {"name": 5}], ids=repr)
def test_a_config_map_without_a_name_is_refused_before_a_cluster_is_asked(
    project: Path, capsys: pytest.CaptureFixture[str], metadata: object
) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    file = project / "fleet.yaml"
    file.write_text(yaml.safe_dump_all([manifest(), config_map]))
    assert main(["submit", str(project), "--path", "src"]) == 64
    assert capsys.readouterr().err == f"error: {file}: a ConfigMap has no name; set its metadata.name to text\n"


def test_a_folder_that_is_not_there_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--filename", str(project / "fleet.yaml")]):
        assert main(["submit", "/nowhere", *words]) == 64
        assert capsys.readouterr().err == "error: /nowhere: the folder does not exist\n"


def test_a_manifest_in_the_place_of_its_folder_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project / "fleet.yaml"
    assert main(["submit", str(file)]) == 64
    assert capsys.readouterr().err == f"error: {file}: this is a file; name its folder, and the file with -f\n"
