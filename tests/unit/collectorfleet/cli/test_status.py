"""`status` and `top` with several fleets, with none, and in the formats of kubectl."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.played_api import NAME, NAMESPACE, ApiServer, Request

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main
from collectorfleet.cli.version import version
from collectorfleet_api import names

Said = pytest.CaptureFixture[str]
HERE = f"GET /apis/collectorfleet.dev/v1alpha1/namespaces/{NAMESPACE}/collectorfleets"
EVERYWHERE = "GET /apis/collectorfleet.dev/v1alpha1/collectorfleets"


def changed(phase: str, version: str) -> dict[str, Any]:
    metadata = {**played_api.FLEET["metadata"], "resourceVersion": version}
    return {**played_api.FLEET, "metadata": metadata, "status": {**played_api.FLEET["status"], "phase": phase}}


@pytest.mark.parametrize("words", [["status"], ["top", "--once"]], ids=" ".join)
def test_without_a_name_each_fleet_has_a_line(words: list[str], lab: ApiServer, capsys: Said) -> None:
    assert main(words) == ExitCode.DONE
    header, line = capsys.readouterr().out.splitlines()
    assert header.split()[:2] == ["fleet", "phase"]
    assert line.split()[:2] == [NAME, "Collecting"]
    assert lab.requests[0] == HERE


@pytest.mark.parametrize("command", [["status"], ["top", "--once"]], ids=" ".join)
@pytest.mark.parametrize("option", ["-A", "--all-namespaces"])
def test_fleets_of_all_namespaces_have_theirs_in_front(
    command: list[str], option: str, lab: ApiServer, capsys: Said
) -> None:
    assert main([*command, option]) == ExitCode.DONE
    header, line = capsys.readouterr().out.splitlines()
    assert header.split()[:2] == ["namespace", "fleet"]
    assert line.split()[:2] == [NAMESPACE, NAME]
    assert lab.requests[0] == EVERYWHERE


def test_a_note_about_an_image_tells_two_fleets_of_one_name_apart(lab: ApiServer, capsys: Said) -> None:
    def fleet(namespace: str, image: str) -> dict[str, Any]:
        spec = {**played_api.FLEET["spec"], "image": f"ghcr.io/collectorfleet/collectorfleet:{image}"}
        return {**played_api.FLEET, "metadata": {**played_api.FLEET["metadata"], "namespace": namespace}, "spec": spec}

    def serve(request: Request) -> None:
        if request.path.endswith("/collectorfleets"):
            items = [fleet("a", "999.0.0"), fleet("b", "0.0.1")]
            request.send_json({"kind": "CollectorFleetList", "metadata": {}, "items": items})
        else:
            request.send_json({"metadata": {"labels": {names.VERSION_LABEL: version()}}})

    lab.answer = serve
    assert main(["status", "-A"]) == ExitCode.DONE
    assert f"the image of fleet a/{NAME} has version 999.0.0 of CollectorFleet, " in capsys.readouterr().err


@pytest.mark.parametrize("command", [["status"], ["top", "--once"]], ids=" ".join)
def test_a_selector_is_passed_on_to_the_api_server(command: list[str], lab: ApiServer) -> None:
    assert main([*command, "-l", "team=a,stage!=test"]) == ExitCode.DONE
    assert lab.requests[0] == f"{HERE}?labelSelector=team%3Da%2Cstage%21%3Dtest"


@pytest.mark.parametrize("command", ["status", "top"])
@pytest.mark.parametrize("option", [["-A"], ["-l", "team=a"]], ids=" ".join)
def test_a_name_and_a_selection_are_a_wrong_command_line(
    command: str, option: list[str], lab: ApiServer, capsys: Said
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, NAME, *option])
    assert ended.value.code == ExitCode.USAGE
    assert "exclude each other" in capsys.readouterr().err
    assert lab.requests == []


@pytest.mark.parametrize("command", [["status"], ["status", "-o", "name"], ["top"], ["top", "--once"]], ids=" ".join)
@pytest.mark.parametrize(
    ("option", "sentence"),
    [([], f"No resources found in {NAMESPACE} namespace.\n"), (["-A"], "No resources found\n")],
    ids=["a namespace", "all"],
)
def test_no_fleets_are_said_as_kubectl_says_it(
    command: list[str], option: list[str], sentence: str, lab: ApiServer, capsys: Said
) -> None:
    lab.fleet = None
    assert main([*command, *option]) == ExitCode.DONE
    assert capsys.readouterr() == ("", sentence)


def test_one_fleet_for_programs_is_the_same_in_json_and_yaml(lab: ApiServer, capsys: Said) -> None:
    assert main(["status", NAME, "-o", "json"]) == ExitCode.DONE
    in_json = json.loads(capsys.readouterr().out)
    assert main(["status", NAME, "-o", "yaml"]) == ExitCode.DONE
    assert yaml.safe_load(capsys.readouterr().out) == in_json
    assert (in_json["name"], in_json["status"]["phase"], in_json["events"]) == (NAME, "Collecting", [])


def test_several_fleets_for_programs_are_items(lab: ApiServer, capsys: Said) -> None:
    for format_, read in (("json", json.loads), ("yaml", yaml.safe_load)):
        assert main(["status", "-o", format_]) == ExitCode.DONE
        (item,) = read(capsys.readouterr().out)["items"]
        assert (item["name"], item["namespace"]) == (NAME, NAMESPACE)
        assert "events" not in item
    lab.fleet = None
    assert main(["status", "-o", "json"]) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out) == {"items": []}


@pytest.mark.parametrize("name", [[], [NAME]], ids=["all", "one"])
def test_names_are_those_that_kubectl_takes(name: list[str], lab: ApiServer, capsys: Said) -> None:
    assert main(["status", *name, "-o", "name"]) == ExitCode.DONE
    assert capsys.readouterr().out == f"collectorfleet.collectorfleet.dev/{NAME}\n"


def test_wide_has_more_columns_and_the_rows_of_all_collectors(lab: ApiServer, capsys: Said) -> None:
    assert main(["status", "-o", "wide"]) == ExitCode.DONE
    header, line = capsys.readouterr().out.splitlines()
    assert header.split()[-5:] == ["mode", "staleness", "restarts", "groups", "reason"]
    assert line.split()[-1] == "Collecting"
    row = played_api.FLEET["status"]["collectors"][0]
    many = [{**row, "name": f"c{index}"} for index in range(30)]
    lab.fleet = {**played_api.FLEET, "status": {**played_api.FLEET["status"], "collectors": many}}
    for words, shown in ((["-o", "wide"], 30), ([], 20)):
        assert main(["status", NAME, *words]) == ExitCode.DONE
        out = capsys.readouterr().out
        assert sum(line.startswith("c") and line[1].isdigit() for line in out.splitlines()) == shown
        assert ("and 10 more collectors" in out) == (shown == 20)


def test_one_thing_is_in_the_singular(lab: ApiServer, capsys: Said) -> None:
    status = played_api.FLEET["status"]
    rows = [{**status["collectors"][0], "name": f"c{index}"} for index in range(21)]
    odd = {"driver": {**status["driver"], "restarts": 1}, "checkpoint": {"frames": 1, "time": "2026-11-23T00:22:10Z"}}
    lab.fleet = {**played_api.FLEET, "status": {**status, "collectors": rows, **odd}}
    assert main(["status", NAME]) == ExitCode.DONE
    out = capsys.readouterr().out
    assert "\nand 1 more collector\n" in out
    assert "restarted 1 time\n" in out
    assert " 1 frame, " in out


def watched(lab: ApiServer, *words: str) -> int:
    """Watch until all events have come and the API server goes away."""

    def go_away() -> None:
        lab.watched_in_vain.wait(30)
        lab.answer = played_api.close
        lab.released.set()

    ending = threading.Thread(target=go_away)
    ending.start()
    code = main(["status", *words])
    ending.join()
    return code


@pytest.mark.parametrize("name", [[], [NAME]], ids=["all", "one"])
def test_a_watch_prints_a_line_for_each_change(name: list[str], lab: ApiServer, capsys: Said) -> None:
    lab.events = [
        {"type": "MODIFIED", "object": changed("Degraded", "574")},
        {"type": "DELETED", "object": changed("Degraded", "575")},
    ]
    assert watched(lab, *name, "--watch") == ExitCode.UNAVAILABLE
    out, err = capsys.readouterr()
    header, *lines = out.splitlines()
    place = header.index("phase")
    # The fleet is still in later lists, as an old cache of an API server may have it.
    assert [line[place:].split()[0] for line in lines] == ["Collecting", "Degraded", "Deleted", "Collecting"]
    assert err.startswith("error: no answer from the cluster of context played")


def unreadable(**metadata: str) -> dict[str, Any]:
    return {**played_api.FLEET, "metadata": {**metadata, "name": "odd", "namespace": "other"}, "spec": ["odd"]}


def deep() -> dict[str, Any]:
    spec = {**played_api.FLEET["spec"], "environment": {"factory": "a:b", "kwargs": {"a": played_api.DEEP}}}
    return {**played_api.FLEET, "metadata": {"name": "deep", "namespace": "other", "uid": "deep"}, "spec": spec}


def serve_all(*items: dict[str, Any]) -> Callable[[Request], None]:
    def serve(request: Request) -> None:
        if request.path.split("?")[0].endswith("/collectorfleets") and "watch=true" not in request.path:
            request.send_json({"kind": "CollectorFleetList", "metadata": {"resourceVersion": "1"}, "items": items})
        else:
            request.serve()

    return serve


@pytest.mark.parametrize(
    "words", [["status", "-A"], ["status", "-A", "-o", "wide"], ["top", "-A", "--once"]], ids=" ".join
)
def test_a_fleet_that_is_nested_deeply_or_cannot_be_read_does_not_hide_the_others(
    words: list[str], lab: ApiServer, capsys: Said
) -> None:
    lab.answer = serve_all(unreadable(), deep(), played_api.FLEET)
    assert main(words) == ExitCode.DONE
    out, err = capsys.readouterr()
    assert [line.split()[:2] for line in out.splitlines()[1:]] == [[NAMESPACE, NAME], ["other", "deep"]]
    [note] = err.splitlines()
    assert note.startswith("note: fleet other/odd cannot be read: ")


@pytest.mark.parametrize("words", [["status"], ["stop"], ["resume"], ["logs"]], ids=" ".join)
def test_a_fleet_that_is_nested_deeply_is_shown_and_changed(words: list[str], lab: ApiServer, capsys: Said) -> None:
    lab.fleet = deep()
    assert main([*words, "deep"]) == ExitCode.DONE
    assert capsys.readouterr().err == ""


def test_a_watch_goes_on_after_a_fleet_that_is_nested_deeply_or_cannot_be_read(lab: ApiServer, capsys: Said) -> None:
    lab.answer = serve_all(unreadable(), played_api.FLEET)
    odd = [unreadable(), deep(), changed("Degraded", "574")]
    lab.events = [{"type": "MODIFIED", "object": one} for one in odd]
    assert watched(lab, "-A", "-w") == ExitCode.UNAVAILABLE
    out, err = capsys.readouterr()
    header, *lines = out.splitlines()
    place = header.index("phase")
    assert [line[place:].split()[0] for line in lines][:3] == ["Collecting", "Collecting", "Degraded"]
    assert [line for line in err.splitlines() if "cannot be read" in line][1:] == []


def test_a_watch_that_is_too_old_goes_on_with_what_it_missed(lab: ApiServer, capsys: Said) -> None:
    lab.events = [{"type": "ERROR", "object": played_api.status(410, "Expired", "too old resource version")}]

    def change_meanwhile(request: played_api.Request) -> None:
        request.serve()
        lab.fleet = changed("Degraded", "574")

    lab.answer = change_meanwhile
    assert watched(lab, "-w", "-o", "json") == ExitCode.UNAVAILABLE
    decoder, out, phases = json.JSONDecoder(), capsys.readouterr().out, []
    while out.strip():
        found, end = decoder.raw_decode(out.lstrip())
        phases.append(found["status"]["phase"])
        out = out.lstrip()[end:]
    assert phases == ["Collecting", "Degraded"]


def test_a_watch_of_no_fleets_says_so_and_waits_for_one(lab: ApiServer, capsys: Said) -> None:
    lab.fleet = None
    lab.events = [{"type": "ADDED", "object": changed("Pending", "574")}]
    assert watched(lab, "-w") == ExitCode.UNAVAILABLE
    out, err = capsys.readouterr()
    assert err.startswith(f"No resources found in {NAMESPACE} namespace.\n")
    assert [line.split()[0] for line in out.splitlines()][:2] == ["fleet", NAME]
