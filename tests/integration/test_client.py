"""The Python client and the commands that ask a cluster, against a real API server with the operator."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT
from tests.cluster.control_plane import ControlPlane
from tests.integration.played import manifest
from tests.wait import eventually

from collectorfleet.cli.main import main
from collectorfleet.client import ClusterError, FleetNotFound, FleetRejected, Fleets, FleetStalled, connect, pack
from collectorfleet.timeline.packed import pack as pack_timeline
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Phase

pytestmark = pytest.mark.usefixtures("fleet_operator")


@pytest.fixture
def fleets(control_plane: ControlPlane, namespace: str) -> Iterator[Fleets]:
    connection = connect(namespace, kubeconfig=str(control_plane.kubeconfig))
    with connection.api:
        yield Fleets(connection)


def command(plane: ControlPlane, namespace: str, *words: str) -> int:
    return main([*words, "--namespace", namespace, "--kubeconfig", str(plane.kubeconfig)])


def test_a_fleet_is_submitted_seen_scaled_stopped_and_gone(control_plane: ControlPlane, fleets: Fleets) -> None:
    stored = fleets.submit(manifest("run"))
    assert stored.metadata.generation == 1
    assert [fleet.metadata.name for fleet in fleets.list()] == ["run"]
    fleets.wait("run", lambda fleet: fleet.status is not None and fleet.status.observed_generation == 1, timeout=60)

    fleets.scale("run", 5)
    assert fleets.get("run").spec.collectors.replicas == 5
    fleets.stop("run")
    assert fleets.wait("run", "Suspended", timeout=60).spec.suspend
    fleets.resume("run")
    assert not fleets.get("run").spec.suspend
    fleets.delete("run")
    eventually(lambda: not fleets.list(), within=30, what="the fleet is gone")


def test_submitting_again_changes_what_is_there(fleets: Fleets) -> None:
    fleets.submit(manifest("run"))
    assert fleets.submit(manifest("run", replicas=3)).metadata.generation == 2


def test_a_folder_is_submitted_with_its_fleet_and_another_one_beside_it(
    control_plane: ControlPlane, fleets: Fleets, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/envs.py").write_text("a = 1\n")
    (tmp_path / "fleet.yaml").write_text(json.dumps(manifest("run")))
    assert command(control_plane, fleets.namespace, "submit", str(tmp_path)) == 0
    tree = pack(tmp_path, without=[tmp_path / "fleet.yaml"])
    assert f"1 file, {len(tree.archive)} bytes packed, is in ConfigMap run-code-" in capsys.readouterr().out
    stored = fleets.get("run")
    assert stored.spec.code
    assert stored.spec.code.archive
    assert stored.spec.code.archive.sha256 == tree.sha256
    found = control_plane.get(f"configmap/{tree.config_map_name('run')}", fleets.namespace)
    assert b64decode(found["binaryData"]["code.tar.gz"]) == tree.archive
    assert found["metadata"]["ownerReferences"][0]["uid"] == stored.metadata.uid

    # Once more, as it is, and with another number of collectors: the same tree.
    (tmp_path / "fleet.yaml").write_text(json.dumps(manifest("run", replicas=3)))
    assert command(control_plane, fleets.namespace, "submit", str(tmp_path)) == 0
    assert fleets.get("run").spec.code == stored.spec.code
    (tmp_path / "lab/envs.py").write_text("a = 2\n")
    assert command(control_plane, fleets.namespace, "submit", str(tmp_path)) == 0
    assert fleets.get("run").spec.code != stored.spec.code


def test_a_folder_that_is_submitted_again_keeps_what_its_manifest_leaves_out(
    control_plane: ControlPlane, fleets: Fleets, tmp_path: Path
) -> None:
    given = manifest("run", collectors={"resources": {"cpu": "100m", "memory": "1Gi"}})
    (tmp_path / "fleet.yaml").write_text(json.dumps(given))
    (tmp_path / "envs.py").write_text("a = 1\n")
    assert command(control_plane, fleets.namespace, "submit", str(tmp_path)) == 0
    fleets.scale("run", 8)
    assert command(control_plane, fleets.namespace, "stop", "run") == 0
    assert command(control_plane, fleets.namespace, "submit", str(tmp_path)) == 0
    spec = fleets.get("run").spec
    assert (spec.collectors.replicas, spec.suspend) == (8, True)


@pytest.mark.parametrize(
    ("files", "words", "sentence"),
    [
        pytest.param({}, (), "fleet.yaml: No such file or directory", id="no manifest"),
        pytest.param(
            {"fleet.yaml": manifest("run", code={"configMap": "code"})},
            (),
            "spec.code: `submit` packs the code itself; remove code from the manifest",
            id="other code",
        ),
        pytest.param(
            {"fleet.yaml": manifest("run")},
            ("--path", "src"),
            "--path src: ",
            id="no such folder",
        ),
        pytest.param(
            {"fleet.yaml": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}},
            (),
            "0 fleets, but only one is submitted with its code",
            id="no fleet",
        ),
    ],
)
def test_what_cannot_be_submitted_is_one_sentence_and_changes_nothing(
    control_plane: ControlPlane,
    fleets: Fleets,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    files: dict[str, object],
    words: tuple[str, ...],
    sentence: str,
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    assert command(control_plane, fleets.namespace, "submit", str(tmp_path), *words) == 64
    assert sentence in capsys.readouterr().err
    assert fleets.list() == []


def test_code_is_submitted_before_the_fleet_that_mounts_it(control_plane: ControlPlane, fleets: Fleets) -> None:
    code = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}, "data": {"train.py": "a = 1"}}
    fleets.submit(manifest("run", code={"configMap": "code"}), code)
    assert control_plane.get("configmap/code", fleets.namespace)["data"] == {"train.py": "a = 1"}


def test_who_waits_for_a_fleet_that_cannot_be_run_is_told_why(fleets: Fleets) -> None:
    broken = manifest("run")
    broken["spec"]["driver"]["resources"] = {"memory": "10k"}
    fleets.submit(broken)
    with pytest.raises(FleetStalled, match="too little memory for a process; write 2Gi"):
        fleets.wait("run", timeout=30)


def test_a_wait_that_is_over_says_what_the_fleet_said_last(fleets: Fleets) -> None:
    fleets.submit(manifest("run"))
    fleets.wait("run", lambda fleet: fleet.status is not None and bool(fleet.status.conditions), timeout=60)
    with pytest.raises(TimeoutError, match="fleet run: not Completed within 3 s; Ready is False"):
        fleets.wait("run", timeout=3)


def test_a_fleet_that_is_not_there_is_named_with_its_namespace(fleets: Fleets) -> None:
    with pytest.raises(FleetNotFound, match=f"no fleet nobody in namespace {fleets.namespace}"):
        fleets.get("nobody")


@pytest.mark.parametrize("change", [{"framesPerBatch": "many"}, {"framesPerBach": 1}, {"framesPerBatch": 0}], ids=str)
def test_what_the_api_server_refuses_is_said_in_its_words(fleets: Fleets, change: dict[str, object]) -> None:
    wrong = manifest("run")
    wrong["spec"]["collection"] |= change
    with pytest.raises(FleetRejected, match=f"{next(iter(change))}: "):
        fleets.submit(wrong)


def test_no_kubeconfig_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="cannot connect to a cluster"):
        connect(kubeconfig=str(tmp_path / "none"))


def test_status_says_why_a_fleet_is_not_ready(
    control_plane: ControlPlane, fleets: Fleets, capsys: pytest.CaptureFixture[str]
) -> None:
    fleets.submit(manifest("run"))
    fleets.wait("run", lambda fleet: fleet.status is not None and fleet.status.phase is Phase.STARTING, timeout=60)
    assert command(control_plane, fleets.namespace, "status", "run") == 0
    said = capsys.readouterr().out
    assert f"{fleets.namespace}/run" in said
    assert "ready" in said
    assert "Created" in said, "no Events"
    assert command(control_plane, fleets.namespace, "status", "run", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["status"]["phase"] == "Starting"


def test_commands_say_what_is_wrong_in_one_sentence(
    control_plane: ControlPlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(control_plane, namespace, "status", "nobody") == 1
    assert capsys.readouterr().err.startswith(f"error: no fleet nobody in namespace {namespace} of context ")
    assert command(control_plane, namespace, "logs", "nobody") == 1


def test_the_log_of_a_driver_that_waits_for_a_node_is_a_note(
    control_plane: ControlPlane, fleets: Fleets, capsys: pytest.CaptureFixture[str]
) -> None:
    fleets.submit(manifest("run"))
    fleets.wait("run", lambda fleet: bool(fleet.status and fleet.status.driver and fleet.status.driver.pod), timeout=60)
    assert command(control_plane, fleets.namespace, "logs", "run") == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("note: driver pod run-driver-")
    assert " of fleet run has printed nothing: Ready is False, " in err


def test_stop_and_resume_by_command(control_plane: ControlPlane, fleets: Fleets) -> None:
    fleets.submit(manifest("run"))
    assert command(control_plane, fleets.namespace, "stop", "run") == 0
    assert fleets.get("run").spec.suspend
    assert command(control_plane, fleets.namespace, "resume", "run") == 0
    assert not fleets.get("run").spec.suspend


def test_top_shows_a_line_for_each_fleet(
    control_plane: ControlPlane, fleets: Fleets, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        fleets.submit(manifest(name))
    assert command(control_plane, fleets.namespace, "top", "--once") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["fleet", "one", "two"]


def test_the_report_of_a_fleet_is_what_its_driver_wrote_and_what_is_true_by_now(
    control_plane: ControlPlane, fleets: Fleets, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleets.submit(manifest("run"))
    fleets.wait("run", lambda fleet: fleet.status is not None and fleet.status.phase is Phase.STARTING, timeout=60)
    eventually(
        lambda: control_plane.get("configmap/run-timeline", fleets.namespace), within=60, what="a place for a timeline"
    )
    page = tmp_path / "page.html"
    assert command(control_plane, fleets.namespace, "report", "run", "-o", str(page)) == 1
    to_see = f"collectorfleet status run -n {fleets.namespace} --kubeconfig {control_plane.kubeconfig}"
    assert (
        capsys.readouterr().err
        == f"error: fleet run: its driver has not reported yet; run `{to_see}` to see its state\n"
    )

    written = Timeline(fleet="run", began=1.7e9, times=[1.7e9 + 60], series={"frames": [4096.0]})
    content = b64encode(pack_timeline(written)).decode()
    change = json.dumps({"binaryData": {names.TIMELINE_KEY: content}})
    words = ("patch", "configmap/run-timeline", "-n", fleets.namespace, "--type=merge", "-p", change)
    control_plane.kubectl(*words)
    assert fleets.timeline("run") == written
    assert command(control_plane, fleets.namespace, "report", "run", "-o", str(page)) == 0
    assert capsys.readouterr().out == f"{page}\n"
    shown = page.read_text()
    assert "4,096" in shown
    assert "Starting, " in shown

    control_plane.kubectl(*words[:-1], json.dumps({"binaryData": {names.TIMELINE_KEY: "bm9uZQ=="}}))
    assert command(control_plane, fleets.namespace, "report", "run", "-o", str(page)) == 1
    assert "ConfigMap run-timeline has no timeline: " in capsys.readouterr().err
    assert command(control_plane, fleets.namespace, "report", "nobody") == 1
    assert capsys.readouterr().err.startswith(f"error: no fleet nobody in namespace {fleets.namespace} of context ")


@pytest.mark.parametrize("command_", ["status", "report"])
def test_neither_client_nor_commands_need_ray_or_torch(
    control_plane: ControlPlane, fleets: Fleets, command_: str
) -> None:
    fleets.submit(manifest("run"))
    words = [command_, "run", "-n", fleets.namespace, "--kubeconfig", str(control_plane.kubeconfig)]
    program = (
        "import sys\n"
        "for name in ('torch', 'ray', 'tensordict', 'torchrl', 'numpy', 'gymnasium', 'kopf', 'aiohttp'):\n"
        "    sys.modules[name] = None\n"
        "from collectorfleet.cli.main import main\n"
        f"sys.exit(main({words!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    # There is no timeline yet, which `report` says once it has asked.
    assert done.returncode == (0 if command_ == "status" else 1), done.stderr
    assert ("run" in done.stdout) if command_ == "status" else ("its driver has not reported yet" in done.stderr)
