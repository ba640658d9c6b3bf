"""Which files of a folder are packed, which are left out, and which make the command refuse."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.collectorfleet.client.folders import contents, files, folder, git, repository

from collectorfleet.client import FolderRefused, pack

CODE = ("lab/__init__.py", "lab/envs.py", "train.py")


@pytest.mark.parametrize(
    "name",
    [
        *("venv/lib/x.py", "my-env/pyvenv.cfg", "my-env/lib/x.py", "conda/conda-meta/history", "conda/lib/x.py"),
        *("lib/python3.11/site-packages/numpy/__init__.py", "node_modules/x/package.json"),
        *("lab/__pycache__/envs.pyc", "lab/old.pyc", "x.egg-info/top_level.txt"),
        *(".github/workflow.yaml", ".venv/lib/x.py", ".mypy_cache/x.json", ".python-version"),
    ],
)
def test_what_nobody_imports_is_left_out(root: Path, name: str) -> None:
    marks = {"conda/lib/x.py": "conda/conda-meta/history", "my-env/lib/x.py": "my-env/pyvenv.cfg"}
    folder(root, files(*CODE, name, marks.get(name, name)))
    assert set(contents(pack(root))) == set(CODE)


def test_the_folder_itself_may_be_a_virtual_environment(root: Path) -> None:
    folder(root, files(*CODE, "pyvenv.cfg", "lib/python3.11/site-packages/x.py"))
    assert set(contents(pack(root))) == {*CODE, "pyvenv.cfg"}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "id_rsa",
            "id_rsa.bak",
            "server.pem.old~",
            "keys/id_ed25519",
            "deploy_rsa",
            "server.pem",
            "server.KEY",
            "store.p12",
            "store.pfx",
            "store.jks",
        ),
        *("credentials.json", "Credentials-2.json", "application_default_credentials.json", "credentials"),
        *("service-account.json", "my_service_account.json", "serviceAccountKey.json", "client_secret_1.json"),
        *("secrets.yaml", "secret.toml", "token.json", "passwords.txt", "kubeconfig", "prod.kubeconfig"),
        *("kubeconfig.yaml", ".env", ".env.local", "prod.env", ".envrc", ".netrc", "_netrc", ".pypirc", ".npmrc"),
        *(".git-credentials", ".pgpass", ".dockerconfigjson", ".htpasswd", "vault.kdbx", "x.keytab", "x.tfstate"),
    ],
)
def test_a_name_of_a_secret_is_refused_and_named(root: Path, name: str) -> None:
    folder(root, files(*CODE, name))
    with pytest.raises(FolderRefused) as refused:
        pack(root)
    assert str(refused.value) == (
        f"{root}: 1 file looks like a key or a secret: {name}; users who may view ConfigMaps could read it; move it "
        f"out of the folder, name it in .collectorfleetignore, or pack it with --include {name}"
    )


@pytest.mark.parametrize(
    "name",
    [
        "tokenizer.json",
        "secrets.py",
        "credentials.py",
        "id_rsa.pub",
        "keys.py",
        "env.yaml",
        "environment.json",
        "key.py",
        "serviceaccount.yaml",
    ],
)
def test_names_of_code_are_no_secrets(root: Path, name: str) -> None:
    folder(root, files(name))
    known = {"id_rsa.pub"} if not (root / ".git").exists() else set()
    assert set(contents(pack(root))) == {name} - known


def test_an_example_of_an_environment_file_is_no_secret(root: Path) -> None:
    folder(root, files(*CODE, ".env.example", ".env.template"))
    assert set(contents(pack(root))) == set(CODE)


def test_all_secrets_are_named_at_once(root: Path) -> None:
    folder(root, files(*(f"{n:02d}.pem" for n in range(13))))
    with pytest.raises(
        FolderRefused, match=r": 13 files look like keys .*: 00\.pem, .*, 09\.pem and 3 more; users .*; move them"
    ):
        pack(root)


@pytest.mark.parametrize("ignore_file", [".gitignore", ".collectorfleetignore", "lab/.gitignore"])
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("*.pem", "lab/server.pem"),
        ("data/", "lab/data/large.json"),
        ("old.py", "lab/old.py"),
        ("deep/**/*.json", "lab/deep/er/x.json"),
        ("*.json\n!keep.json", "lab/x.json"),
    ],
)
def test_what_an_ignore_file_matches_is_left_out(root: Path, ignore_file: str, line: str, name: str) -> None:
    if line.startswith("deep") and "/" not in ignore_file:
        line = f"lab/{line}"
    folder(root, {**files(*CODE, name), ignore_file: f"# a comment\n\n{line}\n"})
    assert set(contents(pack(root))) == set(CODE)


def test_an_ignore_file_can_take_a_file_back(root: Path) -> None:
    folder(root, {**files(*CODE, "x.json", "keep.json"), ".gitignore": "*.json\n!keep.json\n"})
    assert set(contents(pack(root))) == {*CODE, "keep.json"}


def test_an_ignore_file_need_not_be_utf_8(root: Path) -> None:
    folder(root, files(*CODE, "x.json"))
    (root / ".collectorfleetignore").write_bytes(b"caf\xe9\nx.json\n")
    assert set(contents(pack(root))) == set(CODE)


def test_without_a_repository_python_and_text_of_configurations_is_packed_and_the_rest_is_named(tmp_path: Path) -> None:
    text = ("a.pyi", "b.yaml", "c.yml", "d.json", "e.toml", "f.cfg", "g.ini", "h.xml", "i.txt")
    root = folder(tmp_path / "project", files(*CODE, *text, "model.pt", "lab/fast.so", "README.md"))
    tree = pack(root)
    assert set(contents(tree)) == {*CODE, *text}
    assert tree.left_out == ("README.md", "lab/fast.so", "model.pt")


def test_in_a_repository_what_git_lists_is_packed(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", {**files(*CODE, "map.npz", "gone.py", "new.py"), ".gitignore": "*.npz\n"})
    git(root, "add", "--force", "train.py", "map.npz", "gone.py")
    (root / "gone.py").unlink()
    tree = pack(root)
    assert set(contents(tree)) == {*CODE, "map.npz", "new.py"}
    assert tree.left_out == ()


def test_a_folder_of_a_repository_is_packed_without_the_rest(tmp_path: Path) -> None:
    top = repository(tmp_path / "top", {**files("other.py", "lab/a.py", "lab/b.json"), ".gitignore": "/lab/*.json\n"})
    assert set(contents(pack(top / "lab"))) == {"a.py"}


def test_a_repository_within_is_packed_as_it_lists_itself(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", files(*CODE))
    repository(root / "vendor/lib", {**files("lib.py", "x.json"), ".gitignore": "x.json\n"})
    assert set(contents(pack(root))) == {*CODE, "vendor/lib/lib.py"}


def test_a_folder_that_became_a_link_is_not_read_through_it(tmp_path: Path) -> None:
    folder(tmp_path / "away", files("x.py"))
    root = repository(tmp_path / "project", files(*CODE, "data/x.py"))
    git(root, "add", "--all")
    (root / "data/x.py").unlink()
    (root / "data").rmdir()
    (root / "data").symlink_to(tmp_path / "away")
    with pytest.raises(FolderRefused, match="data points out of the folder"):
        pack(root)


def test_a_folder_that_its_repository_ignores_is_refused(tmp_path: Path) -> None:
    top = repository(tmp_path / "top", {**files("lab/a.py"), ".gitignore": "*\n"})
    with pytest.raises(FolderRefused, match=r"lab: git lists no file of this folder.*\.gitignore"):
        pack(top / "lab")
    assert set(contents(pack(top / "lab", include=["*.py"]))) == {"a.py"}


def test_a_git_hook_packs_the_folder_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repository(tmp_path / "other", files("other.py"))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert set(contents(pack(repository(tmp_path / "project", files(*CODE))))) == set(CODE)


def test_what_git_refuses_is_said_in_its_words(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", files(*CODE))
    (root / ".git/config").write_text("[core\n")
    with pytest.raises(FolderRefused, match="project: git cannot list the files: fatal: bad config line 1"):
        pack(root)


def test_without_git_a_repository_is_packed_by_its_ignore_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = repository(
        tmp_path / "top",
        {**files("lab/a.py", "lab/b.npz", "lab/c.bin", "lab/d.json"), ".gitignore": "*.bin\n/lab/d.json\n"},
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    tree = pack(top / "lab")
    assert set(contents(tree)) == {"a.py", "b.npz"}
    assert tree.left_out == ()


@pytest.mark.parametrize(
    ("include", "packed"),
    [
        pytest.param("*.npz", {"a.npz", "lab/b.npz"}, id="a suffix"),
        pytest.param("/*.npz", {"a.npz"}, id="a suffix at the top"),
        pytest.param("lab/b.npz", {"lab/b.npz"}, id="a path"),
        pytest.param("build/", {"build/fast.so"}, id="a folder that is ignored"),
        pytest.param("*.so", {"build/fast.so"}, id="files that are ignored"),
        pytest.param("server.pem", {"server.pem"}, id="a secret by its name"),
        pytest.param("keys/id_rsa", {"keys/id_rsa"}, id="a secret by its path"),
        pytest.param(".streamlit/config.toml", {".streamlit/config.toml"}, id="a file in a hidden folder"),
        pytest.param(".streamlit", {".streamlit/config.toml"}, id="a hidden folder"),
        pytest.param(".flags", {".flags"}, id="a hidden file"),
        pytest.param("venv/lib/x.py", {"venv/lib/x.py"}, id="a file of a virtual environment"),
    ],
)
def test_include_packs_what_it_names(root: Path, include: str, packed: set[str]) -> None:
    ignored = ("a.npz", "lab/b.npz", "build/fast.so", "server.pem", "keys/id_rsa")
    left_out = (".streamlit/config.toml", ".flags", "venv/lib/x.py", "venv/pyvenv.cfg")
    folder(root, {**files(*CODE, *ignored, *left_out), ".gitignore": "*.npz\nbuild\n*.pem\nkeys"})
    assert set(contents(pack(root, include=[include]))) == {*CODE, *packed}


@pytest.mark.parametrize("include", ["*.pem", "keys/", "keys/*", "*"])
def test_a_secret_is_packed_only_by_its_own_name(root: Path, include: str) -> None:
    folder(root, {**files(*CODE, "keys/server.pem"), ".gitignore": "keys\n"})
    with pytest.raises(FolderRefused, match=r"or pack it with --include keys/server\.pem"):
        pack(root, include=[include])


@pytest.mark.parametrize("include", ["*", "*.py", "*.json"])
def test_include_does_not_reach_into_virtual_environments_and_hidden_folders(root: Path, include: str) -> None:
    folder(root, files(*CODE, "lab/x.json", "venv/x.py", "venv/x.json", ".aws/x.py", ".aws/x.json", ".x.json"))
    assert set(contents(pack(root, include=[include]))) == {*CODE, "lab/x.json"}


def test_an_include_that_matches_nothing_is_refused(root: Path) -> None:
    folder(root, files(*CODE))
    with pytest.raises(FolderRefused, match=r"--include \*\.npz, --include x\.py: no file in .*project matches"):
        pack(root, include=["*.npz", "train.py", "x.py"])


def test_an_include_may_match_in_a_linked_folder_alone(root: Path) -> None:
    folder(root, {**files(*CODE, "lab/map.npz"), "data": "-> lab"})
    packed = contents(pack(root, include=["data/map.npz"]))
    assert packed["data/map.npz"] == "content of lab/map.npz"


def test_a_line_that_is_no_pattern_is_refused_with_its_file(root: Path) -> None:
    folder(root, {**files(*CODE), ".collectorfleetignore": "*.pt\n!\n"})
    with pytest.raises(FolderRefused, match=r"/\.collectorfleetignore: Invalid git pattern: '!'"):
        pack(root)


def test_every_problem_is_said_at_once(root: Path) -> None:
    folder(root, {**files(*CODE, "id_rsa"), "data": "-> /"})
    with pytest.raises(FolderRefused) as refused:
        pack(root, include=["*.npz"])
    assert [one.split(": ")[1][:20] for one in refused.value.problems[:2]] == [
        "1 file looks like a ",
        "1 symbolic link cann",
    ]
    assert len(refused.value.problems) == 3


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FolderRefused, match="away: the folder does not exist"):
        pack(tmp_path / "away")


def test_odd_names_are_packed_and_shown_in_one_line(root: Path) -> None:
    odd = (
        "a b.py",
        "caf\u00e9.py",
        "new\nline.py",
        "quote'\".py",
        "back\\slash.py",
        "-n.py",
        "\udcff.py",
        "*.py",
        "#.py",
    )
    folder(root, files(*odd))
    tree = pack(root)
    assert {one.name for one in tree.files} == set(odd)
    assert all(one.shown.isprintable() for one in tree.files)
    folder(root, files("new\nline.pem"))
    with pytest.raises(FolderRefused, match=r": 'new\\nline\.pem'; users"):
        pack(root)


def test_only_files_are_packed(root: Path) -> None:
    folder(root, files(*CODE))
    (root / "empty/folder").mkdir(parents=True)
    os.mkfifo(root / "pipe.py")
    assert set(contents(pack(root))) == set(CODE)
