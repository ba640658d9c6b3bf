"""Where a run on this machine finds the code that a cluster's manifest names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.git_repository import Repository
from tests.gitops.git_http import served
from tests.private_authority import PrivateAuthority

from collectorfleet.errors import InvalidOption
from collectorfleet.local.code_files import find_config_map, import_path
from collectorfleet_api.manifests.files import load_file, load_manifests
from collectorfleet_api.v1alpha1 import Archive, CertificateAuthority, Code, Git, LocalObjectReference


def config_map(name: str = "code", text: str = "x = 1") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{envs.py: {text!r}}}\n"


def test_the_config_map_of_the_same_file_comes_first(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(config_map(text="x = 2"))
    source = tmp_path / "fleet.yaml"
    found = find_config_map("code", load_manifests(config_map()), source)
    assert found == {"envs.py": "x = 1"}


def test_a_config_map_beside_the_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "code.yaml").write_text(config_map())
    (tmp_path / "notes.yaml").write_text("{not yaml")
    source = tmp_path / "fleet.yaml"
    source.write_text("")
    assert find_config_map("code", load_file(source), source) == {"envs.py": "x = 1"}


def test_a_missing_config_map_is_said_with_the_place_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidOption, match=r'ConfigMap "code" is not in .*fleet.yaml or a file beside it; add the ConfigMap'
    ):
        find_config_map("code", load_manifests(""), tmp_path / "fleet.yaml")


def test_two_config_maps_of_one_name_are_not_guessed_between(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(config_map())
    with pytest.raises(InvalidOption, match=r"is in a\.yaml and b\.yaml; keep one"):
        find_config_map("code", load_manifests(""), tmp_path / "fleet.yaml")


def test_the_config_maps_files_come_before_what_stands_for_the_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    source, mounted = tmp_path / "fleet.yaml", tmp_path / "mounted"
    assert import_path(None, load_manifests(""), source, mounted) == [tmp_path, here]
    assert not mounted.exists()
    found = import_path(Code(config_map="code"), load_manifests(config_map()), source, mounted)
    assert found == [mounted, tmp_path, here]
    assert (mounted / "envs.py").read_text() == "x = 1"


def test_a_tree_in_a_config_map_is_nowhere_without_a_cluster(tmp_path: Path) -> None:
    code = Code(archive=Archive(config_map="tree", sha256="a" * 64))
    with pytest.raises(InvalidOption, match=r"remove spec\.code and run the manifest in the folder with the code"):
        import_path(code, load_manifests(""), tmp_path / "fleet.yaml", tmp_path / "mounted")


def test_a_commit_is_fetched_as_a_pod_would(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    commit = repository.commit(**{"src/envs": "x = 1\n"})
    with served(tmp_path) as address:
        code = Code(git=Git(repository=f"{address}/{repository.bare.name}", commit=commit), path="src")
        found = import_path(code, load_manifests(""), tmp_path / "fleet.yaml", tmp_path / "mounted")
    assert (found[0] / "envs.py").read_text() == "x = 1\n"


def test_a_secret_is_nowhere_without_a_cluster(tmp_path: Path) -> None:
    secret = LocalObjectReference(name="forge")
    git = Git(repository="https://git.example.com/me/lab.git", commit="a" * 40, credentials_secret=secret)
    with pytest.raises(
        InvalidOption, match=r"Secret forge can be read only on a cluster; remove spec\.code and run the manifest"
    ):
        import_path(Code(git=git), load_manifests(""), tmp_path / "fleet.yaml", tmp_path / "mounted")


@pytest.mark.parametrize("key", ["../outside.py", "/tmp/outside.py", "lib/envs.py", "..", "."])
def test_a_key_that_no_config_map_can_have_is_refused_and_written_nowhere(tmp_path: Path, key: str) -> None:
    # In a file beside the fleet's, whose findings nobody reads.
    (tmp_path / "code.yaml").write_text(config_map().replace("envs.py", repr(key)))
    source = tmp_path / "fleet.yaml"
    source.write_text("")
    with pytest.raises(
        InvalidOption, match=rf"^spec\.code\.configMap: '{re.escape(key)}' is not a valid ConfigMap key"
    ):
        import_path(Code(config_map="code"), load_file(source), source, tmp_path / "mounted")
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["code.yaml", "fleet.yaml", "mounted"]


def authority_map(authority: PrivateAuthority) -> str:
    found = {"kind": "ConfigMap", "metadata": {"name": "lab-ca"}, "data": {"ca.crt": authority.file.read_text()}}
    return json.dumps({"apiVersion": "v1", **found})


@pytest.mark.parametrize("place", ["the same file", "a file beside it", "SSL_CERT_FILE", "SSL_CERT_FILE for a Secret"])
def test_a_private_authority_is_taken_from_the_manifests_or_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    authority, source = PrivateAuthority(tmp_path), tmp_path / "fleet.yaml"
    if place.startswith("SSL_CERT_FILE"):
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    if place == "a file beside it":
        (tmp_path / "ca.json").write_text(authority_map(authority))
    manifests = load_manifests(authority_map(authority) if place == "the same file" else "")
    repository = Repository(tmp_path)
    commit = repository.commit(envs="x = 1\n")
    named = {"secret": "lab-ca"} if place.endswith("Secret") else {"config_map": "lab-ca"}
    with served(tmp_path, tls=authority.server_context("localhost")) as address:
        git = Git(repository=f"{address.replace('127.0.0.1', 'localhost')}/lab.git", commit=commit)
        code = Code(git=git, certificate_authority=CertificateAuthority(**named))
        found = import_path(code, manifests, source, tmp_path / "mounted")
    assert (found[0] / "envs.py").read_text() == "x = 1\n"


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        pytest.param(
            ["a.yaml", "b.yaml"], 'configMap: ConfigMap "lab-ca" is in a.yaml and b.yaml; keep one', id="two of them"
        ),
        pytest.param(
            ["a.yaml"], "ConfigMap lab-ca has no ca.crt; correct certificateAuthority.key", id="without the key"
        ),
    ],
)
def test_a_private_authority_that_is_not_clear_is_refused(tmp_path: Path, files: list[str], sentence: str) -> None:
    for name in files:
        (tmp_path / name).write_text(config_map("lab-ca"))
    git = Git(repository="https://git.lab/lab.git", commit="a" * 40)
    code = Code(git=git, certificate_authority=CertificateAuthority(config_map="lab-ca"))
    with pytest.raises(InvalidOption, match=rf"^spec\.code\.certificateAuthority(\.|: ){re.escape(sentence)}$"):
        import_path(code, load_manifests(""), tmp_path / "fleet.yaml", tmp_path / "mounted")
