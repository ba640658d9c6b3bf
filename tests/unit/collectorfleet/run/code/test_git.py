"""A commit of a repository that git itself serves, or one sentence that says why not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.git_repository import Repository
from tests.gitops.git_http import served

from collectorfleet.errors import InfrastructureError, InvalidOption
from collectorfleet.run.code import bounds
from collectorfleet.run.code.git import write_tree
from collectorfleet_api.v1alpha1 import Git, LocalObjectReference

PASSWORD = "not-for-logs"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with served(tmp_path) as url:
        yield url


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_the_tree_of_an_earlier_commit_is_fetched_without_history(
    tmp_path: Path, address: str, into: Path, object_format: str
) -> None:
    repository = Repository(tmp_path, "other.git", object_format)
    repository.commit(train="a = 0\n")
    wanted = repository.commit(**{"train": "a = 1\n", "lab/envs": "b = 1\n"})
    repository.commit(train="a = 2\n")
    assert write_tree(Git(repository=f"{address}/other.git", commit=wanted), None, into) == f"git:{wanted}"
    found = {str(path.relative_to(into)): path.read_text() for path in into.rglob("*") if path.is_file()}
    assert found == {"train.py": "a = 1\n", "lab/envs.py": "b = 1\n"}


def test_links_inside_the_tree_and_what_can_be_executed_stay_so(
    repository: Repository, address: str, into: Path
) -> None:
    repository.commit(train="a = 1\n")
    (repository.tree / "same.py").symlink_to("train.py")
    (repository.tree / "train.py").chmod(0o755)
    commit = repository.commit()
    write_tree(Git(repository=f"{address}/lab.git", commit=commit), None, into)
    assert (into / "same.py").readlink() == Path("train.py")
    assert os.access(into / "train.py", os.X_OK)


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside.py"])
def test_a_link_out_of_the_tree_is_refused(repository: Repository, address: str, into: Path, target: str) -> None:
    (repository.tree / "envs.py").symlink_to(target)
    commit = repository.commit()
    with pytest.raises(
        InvalidOption,
        match=r"lab\.git at [0-9a-f]{40}: the tree cannot be written: .*envs\.py.* is a link to .* outside of the",
    ):
        write_tree(Git(repository=f"{address}/lab.git", commit=commit), None, into)


def test_a_submodule_is_refused_by_its_name(repository: Repository, address: str, into: Path) -> None:
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor/sim")
    repository.git("commit", "--quiet", "--message=submodule")
    repository.git("push", "--quiet", str(repository.bare), "HEAD:main")
    commit = repository.git("rev-parse", "HEAD")
    with pytest.raises(InvalidOption, match=r"vendor/sim is a submodule, which is another repository"):
        write_tree(Git(repository=f"{address}/lab.git", commit=commit), None, into)


def test_a_commit_that_is_not_there_is_named_with_the_servers_words(
    repository: Repository, address: str, into: Path
) -> None:
    repository.commit(train="")
    with pytest.raises(
        InvalidOption, match=r"lab\.git at 1{40}: the repository does not serve this commit; .*not our ref"
    ):
        write_tree(Git(repository=f"{address}/lab.git", commit="1" * 40), None, into)
    assert list(into.iterdir()) == []


@pytest.mark.parametrize(("object_format", "digits", "others"), [("sha1", 40, 64), ("sha256", 64, 40)])
def test_a_commit_of_the_other_kind_of_repository_is_told_by_its_digits(
    tmp_path: Path, address: str, into: Path, object_format: str, digits: int, others: int
) -> None:
    Repository(tmp_path, "other.git", object_format).commit(train="")
    with pytest.raises(InvalidOption, match=f"other.git at 1{{{others}}}: commits of that repository have {digits}"):
        write_tree(Git(repository=f"{address}/other.git", commit="1" * others), None, into)


def test_an_annotated_tag_is_no_commit(repository: Repository, address: str, into: Path) -> None:
    repository.commit(train="")
    repository.git("tag", "--annotate", "--message=first", "v1")
    repository.git("push", "--quiet", str(repository.bare), "v1")
    tag = repository.git("rev-parse", "v1")
    with pytest.raises(InvalidOption, match="the object is a tag, not a commit; name the commit"):
        write_tree(Git(repository=f"{address}/lab.git", commit=tag), None, into)


def test_a_repository_that_is_not_there_and_a_server_that_is_away_differ(address: str, into: Path) -> None:
    with pytest.raises(InvalidOption, match=r"nothing\.git at 1{40}: 404 Not Found"):
        write_tree(Git(repository=f"{address}/nothing.git", commit="1" * 40), None, into)
    with pytest.raises(InfrastructureError, match=r"lab\.git at 1{40}: not reachable: .*refused"):
        write_tree(Git(repository="http://127.0.0.1:9/lab.git", commit="1" * 40), None, into)


def test_a_page_for_people_is_no_repository(tmp_path: Path, into: Path, pages: str) -> None:
    (tmp_path / "lab/info").mkdir(parents=True)
    (tmp_path / "lab/info/refs").write_text("<html>\n<body>me/lab</body>\n</html>\n")
    with pytest.raises(InvalidOption, match="the server is not a git server"):
        write_tree(Git(repository=f"{pages}/lab", commit="1" * 40), None, into)


def test_more_than_the_bounds_is_refused_before_all_of_it_is_there(
    repository: Repository, address: str, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit(one="a = 1\n", two="b = 2\n")
    source = Git(repository=f"{address}/lab.git", commit=commit)
    monkeypatch.setattr(bounds, "MOST_FILES", 1)
    with pytest.raises(InvalidOption, match="2 files of 0 bytes unpacked exceed the limit of 1"):
        write_tree(source, None, into)
    monkeypatch.setattr(bounds, "MOST_BYTES", 10)
    with pytest.raises(InvalidOption, match="more than 10 bytes to fetch"):
        write_tree(source, None, into)
    monkeypatch.undo()
    monkeypatch.setattr(bounds, "MOST_BYTES", 1000)
    monkeypatch.setattr(bounds, "MOST_INFLATED_BYTES", 100)
    with pytest.raises(
        InvalidOption, match=r"objects of \d{3} bytes, unpacked from \d{3} fetched bytes, exceed the limit"
    ):
        write_tree(source, None, into)
    assert list(into.iterdir()) == []


def credentials(folder: Path, **keys: str) -> Path:
    found = folder / "credentials"
    found.mkdir()
    for key, text in keys.items():
        (found / key).write_text(text)
    return found


def test_a_private_repository_takes_the_user_of_the_secret(repository: Repository, tmp_path: Path, into: Path) -> None:
    commit = repository.commit(train="")
    with served(tmp_path, user=f"me:{PASSWORD}") as address:
        anonymous = Git(repository=f"{address}/lab.git", commit=commit)
        with pytest.raises(
            InvalidOption, match=r"401 Unauthorized; the repository is private or does not exist; .*Secret"
        ):
            write_tree(anonymous, None, into)
        private = anonymous.model_copy(update={"credentials_secret": LocalObjectReference(name="forge")})
        login = credentials(tmp_path, username="me", password=f"{PASSWORD}\n")
        assert write_tree(private, login, into) == f"git:{commit}"
        (login / "password").write_text("wrong")
        with pytest.raises(InvalidOption, match="401 Unauthorized; the server rejects the credentials of Secret forge"):
            write_tree(private, login, into)


def test_a_secret_without_a_password_says_so(tmp_path: Path, into: Path) -> None:
    source = Git(
        repository="https://example.com/lab.git",
        commit="1" * 40,
        credentials_secret=LocalObjectReference(name="forge"),
    )
    with pytest.raises(InvalidOption, match=r"Secret forge has no password; use a Secret of type .*/basic-auth"):
        write_tree(source, credentials(tmp_path, username="me"), into)
