"""Every command, where the wheel is installed with one of its extras, or with none."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.built_wheel import PROJECT, Environment, needed
from tests.cluster.binaries import ROOT
from tests.manifests import manifest

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.extras import NEEDED_BY
from collectorfleet_api.manifests.yaml_writer import to_yaml

EXTRAS = (None, "client", "operator", "runtime")
# In one process: a process for each command takes seconds.
ALL = """
import contextlib, io, json, sys
from collectorfleet.cli.main import main
said = []
for line in sys.argv[1:]:
    out, errors, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors), contextlib.suppress(SystemExit):
        code = main(line.split())
    said.append((code, out.getvalue(), errors.getvalue()))
print(json.dumps(said))
"""
# Of a cluster that does not answer.
KUBECONFIG = """
current-context: it
clusters: [{name: it, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: it, user: {}}]
contexts: [{name: it, context: {cluster: it, user: it}}]
"""
# How to call those that need an extra, but for the name.
ARGUMENTS = {"run": "-", "collect": "--driver=a:1 --token-file=b --rank=0", "submit": "."}
COMMANDS = (
    *("init", "run", "report", "export", "submit", "validate", "render"),
    *("status", "top", "logs", "stop", "resume", "drive", "collect"),
)
# By the extra that is installed: the commands that work.
WORK: Mapping[str | None, frozenset[str]] = {
    None: frozenset(),
    "client": frozenset({"submit", "status", "top", "logs", "stop", "resume"}),
    "operator": frozenset(),
    "runtime": frozenset(NEEDED_BY),
}


def run_all(environment: Environment, *lines: str, cwd: Path | None = None) -> list[tuple[int, str, str]]:
    """Return the exit code, stdout and stderr of each command line."""
    done = environment.run("python", "-c", ALL, *lines, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return [tuple(said) for said in json.loads(done.stdout)]


@pytest.fixture(scope="module", params=EXTRAS, ids=str)
def extra(request: pytest.FixtureRequest) -> str | None:
    found: str | None = request.param
    return found


@pytest.fixture(scope="module")
def environment(extra: str | None, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment.make(tmp_path_factory.mktemp("installed") / (extra or "none"))
    made.link(needed(extra))
    made.install("--no-deps", "--offline", str(wheel))
    return made


def test_each_command_has_its_help_and_the_missing_extra_is_marked(environment: Environment, extra: str | None) -> None:
    (_, overview, _), *said = run_all(environment, "--help", *(f"{command} --help" for command in COMMANDS))
    helped = {command: out for command, (_, out, _) in zip(COMMANDS, said, strict=True)}
    assert [name for name, out in helped.items() if not out.startswith(f"usage: collectorfleet {name} ")] == []
    lines = {line.split()[0]: line for line in overview.splitlines() if line[:4] == "    " and line[4:5].strip()}
    assert lines.keys() == set(COMMANDS)
    marked = {command for command, line in lines.items() if "not installed: " in line}
    assert marked == NEEDED_BY.keys() - WORK[extra]
    assert [command for command in marked if f"collectorfleet[{NEEDED_BY[command].extra}]" not in lines[command]] == []


def test_a_command_whose_extra_is_missing_names_it(environment: Environment, extra: str | None, tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(to_yaml(manifest()))
    refused = sorted(NEEDED_BY.keys() - WORK[extra])
    (tmp_path / "config").write_text(KUBECONFIG)
    arguments = {"client": "cheetah --kubeconfig=config", "runtime": ""}
    lines = [f"{command} {ARGUMENTS.get(command, arguments[NEEDED_BY[command].extra])}" for command in refused]
    for command, (code, out, errors) in zip(refused, run_all(environment, *lines, cwd=tmp_path), strict=True):
        needs = NEEDED_BY[command]
        said = re.fullmatch(
            rf"error: collectorfleet {command} needs packages that are not installed \((.+)\): "
            rf"pip install 'collectorfleet\[{needs.extra}\]'\n",
            errors,
        )
        assert said, errors
        assert (code, out) == (ExitCode.UNAVAILABLE, "")
        assert set(said[1].split(", ")) <= set(needs.modules)


def test_export_needs_the_extra_of_a_folder_or_that_of_a_fleet(
    environment: Environment, extra: str | None, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text(KUBECONFIG)
    lines = ("export . -o p.pt", "export cheetah --kubeconfig=config -o p.pt")
    (_, _, of_folder), (_, _, of_fleet) = run_all(environment, *lines, cwd=tmp_path)
    assert ("pip install 'collectorfleet[runtime]'" in of_folder) == (extra != "runtime")
    assert ("pip install 'collectorfleet[client]'" in of_fleet) == (extra not in ("client", "runtime"))
    assert ("127.0.0.1" in of_fleet) == (extra in ("client", "runtime"))


def test_the_exit_code_of_a_missing_extra_is_69(environment: Environment, extra: str | None, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(KUBECONFIG)
    done = environment.run("kubectl-cfleet", "top", f"--kubeconfig={tmp_path}/config")
    missing = {None: "kubernetes, pathspec", "operator": "pathspec"}.get(extra)
    if missing is None:
        assert "127.0.0.1" in done.stderr
        assert "not installed" not in done.stderr
    else:
        sentence = f"error: kubectl cfleet top needs packages that are not installed ({missing}): "
        assert (done.returncode, done.stderr) == (69, f"{sentence}pip install 'collectorfleet[client]'\n")


def test_the_operator_names_its_extra_where_that_is_missing(environment: Environment, extra: str | None) -> None:
    done = environment.run("python", "-m", "collectorfleet_operator", "--help")
    if extra == "operator":
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert done.returncode == ExitCode.UNAVAILABLE
    said = re.fullmatch(
        r"error: python -m collectorfleet_operator needs packages that are not installed \((.+)\): "
        r"pip install 'collectorfleet\[operator\]'\n",
        done.stderr,
    )
    assert said, done.stderr
    assert "kopf" in said[1]


def test_the_version_is_printed(environment: Environment) -> None:
    done = environment.run("collectorfleet", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"collectorfleet {PROJECT['version']}\n", "")


def test_commands_without_an_extra_work(environment: Environment, tmp_path: Path) -> None:
    example = ROOT / "examples/cartpole.yaml"
    shutil.copy(ROOT / "tests/data/timeline.json", tmp_path)
    lines = (f"validate {example}", f"render {example}", "init mine", "validate mine", "report ./")
    validated, rendered, made, own, reported = run_all(environment, *lines, cwd=tmp_path)
    assert validated == (0, f"{example}: fleet cartpole is valid\n", "")
    assert (rendered[0], rendered[1][:11], rendered[2]) == (0, "apiVersion:", "")
    assert (made[0], made[2]) == (0, "")
    assert own == (0, "mine/fleet.yaml: fleet mine is valid\n", "")
    assert reported == (0, "report.html\n", "")


def test_a_comparison_names_its_extra(environment: Environment, extra: str | None, tmp_path: Path) -> None:
    ((code, _, errors),) = run_all(environment, "report ./a ./b", cwd=tmp_path)
    missing = "scipy" if extra == "runtime" else "numpy, scipy"
    sentence = f"error: collectorfleet report needs packages that are not installed ({missing}): "
    assert (code, errors) == (ExitCode.UNAVAILABLE, f"{sentence}pip install 'collectorfleet[compare]'\n")


def test_the_completion_of_kubectl_is_silent_where_it_cannot_complete(environment: Environment) -> None:
    done = environment.run("kubectl_complete-cfleet", "st")
    assert (done.returncode, done.stdout.splitlines()[-1], done.stderr) == (0, ":4", "")
