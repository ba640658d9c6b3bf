"""Symbolic links of a folder that is packed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.collectorfleet.client.folders import contents, files, folder

from collectorfleet.client import FolderRefused, pack


@pytest.mark.parametrize(
    ("links", "packed"),
    [
        pytest.param({"b.py": "-> lab/a.py"}, {"b.py": "lab/a.py"}, id="a file"),
        pytest.param(
            {"b.py": "-> c.py", "c.py": "-> lab/a.py"}, {"b.py": "lab/a.py", "c.py": "lab/a.py"}, id="a chain"
        ),
        pytest.param({"lib": "-> lab"}, {"lib/a.py": "lab/a.py", "lib/in/b.py": "lab/in/b.py"}, id="a folder"),
        pytest.param({"x/in": "-> ../lab/in"}, {"x/in/b.py": "lab/in/b.py"}, id="a folder upwards"),
        pytest.param(
            {"one": "-> lab/in", "two": "-> lab/in"},
            {"one/b.py": "lab/in/b.py", "two/b.py": "lab/in/b.py"},
            id="a folder by two links",
        ),
        pytest.param(
            {"one": "-> lab/in", "lab/in/c.py": "-> ../a.py"},
            {"one/b.py": "lab/in/b.py", "lab/in/c.py": "lab/a.py", "one/c.py": "lab/a.py"},
            id="a link to a file in a linked folder",
        ),
        pytest.param({"to": "-> .hidden", ".hidden/x.py": ""}, {}, id="a folder that is left out"),
        pytest.param({"venv": "-> /"}, {}, id="a virtual environment by its name"),
        pytest.param({".cache": "-> /", ".#lock.py": "-> me@host"}, {}, id="hidden"),
    ],
)
def test_a_link_within_the_folder_packs_what_it_leads_to(
    root: Path, links: dict[str, str], packed: dict[str, str]
) -> None:
    own = files("lab/a.py", "lab/in/b.py")
    folder(root, {**own, **links})
    assert contents(pack(root)) == {**own, **{name: own[source] for name, source in packed.items()}}


@pytest.mark.parametrize(
    ("links", "sentence"),
    [
        pytest.param({"data": "-> /"}, "data points out of the folder to /", id="a folder outside"),
        pytest.param({"up": "-> .."}, "up points out of the folder to ..", id="the folder above"),
        pytest.param({"x.py": "-> ../secret.py"}, "x.py points out of the folder to ../secret.py", id="a file outside"),
        pytest.param(
            {"x.py": "-> y.py", "y.py": "-> /etc/passwd"}, "x.py points out of the folder to y.py", id="by two"
        ),
        pytest.param({"self": "-> ."}, "self points to a folder that contains the link", id="a loop of one"),
        pytest.param(
            {"lab/in/up": "-> .."}, "lab/in/up points to a folder that contains the link", id="a loop upwards"
        ),
        pytest.param(
            {"x/to": "-> ../y", "y/to": "-> ../x"},
            "x/to/to is in a linked folder and points to another folder",
            id="a loop of two",
        ),
        pytest.param({"x.py": "-> x.py"}, "x.py points to a file that does not exist", id="itself"),
        pytest.param({"x.py": "-> gone.py"}, "x.py points to a file that does not exist", id="broken"),
        pytest.param(
            {"x.py": "-> .hidden/y.py", ".hidden/y.py": ""},
            "x.py points to .hidden/y.py, which is not packed",
            id="a file that is left out",
        ),
    ],
)
def test_any_other_link_is_refused_by_name(root: Path, links: dict[str, str], sentence: str) -> None:
    (root.parent / "secret.py").write_text("")
    folder(root, {**files("lab/a.py", "lab/in/b.py"), **links})
    with pytest.raises(FolderRefused, match=r"symbolic links? cannot be packed: ") as refused:
        pack(root)
    assert sentence in str(refused.value)
    assert str(refused.value).endswith("in .collectorfleetignore")


def test_a_link_to_a_secret_is_a_secret(root: Path) -> None:
    folder(root, {**files("lab/a.py", "id_rsa"), ".collectorfleetignore": "", "config.json": "-> id_rsa"})
    with pytest.raises(FolderRefused, match=r"2 files look like keys or secrets.*: config\.json, id_rsa;"):
        pack(root)


def test_a_link_that_is_ignored_is_no_problem(root: Path) -> None:
    folder(root, {**files("lab/a.py"), "data": "-> /", ".collectorfleetignore": "/data\n"})
    assert set(contents(pack(root))) == {"lab/a.py"}


def test_the_folder_itself_may_be_a_link(root: Path) -> None:
    folder(root, files("lab/a.py"))
    (root.parent / "link").symlink_to(root)
    assert set(contents(pack(root.parent / "link"))) == {"lab/a.py"}


def test_a_file_that_has_two_names_is_packed_under_both(root: Path) -> None:
    folder(root, files("a.py"))
    (root / "b.py").hardlink_to(root / "a.py")
    assert contents(pack(root)) == dict.fromkeys(("a.py", "b.py"), "content of a.py")
