"""The releases that a cluster tells, over HTTP, and what `status` makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml

from collectorfleet.cli.release import difference
from collectorfleet.cli.version import version
from collectorfleet.client.connection import Connection, connect
from collectorfleet.client.release import Releases, cluster_releases
from collectorfleet_api import names

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/collectorfleets.collectorfleet.dev"
OPERATORS = "/apis/apps/v1/deployments?labelSelector=app.kubernetes.io/name%3Dcollectorfleet-operator"
KINDS = {CRD: "PartialObjectMetadata", OPERATORS: "PartialObjectMetadataList"}
FORBIDDEN = (403, {"message": "forbidden"})


class Server(BaseHTTPRequestHandler):
    """Answers for CRD and Deployments alone, as the API server does for their metadata."""

    answers: dict[str, tuple[int, object]]

    def do_GET(self) -> None:
        is_partial = f"as={KINDS.get(self.path)};" in self.headers["Accept"]
        code, body = self.answers[self.path] if is_partial else (404, {})
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        config = {
            "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
            "users": [{"name": "it", "user": {}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        }
        file = tmp_path / "config"
        file.write_text(yaml.safe_dump(config))
        made = connect(kubeconfig=str(file))
        with made.api:
            yield made
        server.shutdown()


def labelled(release: str | None) -> dict[str, object]:
    return {
        "metadata": {"labels": {"app.kubernetes.io/name": "it", **({names.VERSION_LABEL: release} if release else {})}}
    }


@pytest.mark.parametrize(
    ("crd", "operators", "releases"),
    [
        pytest.param(
            (200, labelled("0.3.1")), (200, {"items": [labelled("0.3.1")]}), Releases("0.3.1", ("0.3.1",)), id="told"
        ),
        pytest.param(
            (200, labelled("0.3.1")),
            (200, {"items": [labelled(one) for one in ("0.3.1", "0.2.0", "0.3.1", None)]}),
            Releases("0.3.1", ("0.2.0", "0.3.1")),
            id="several operators",
        ),
        pytest.param((200, labelled(None)), (200, {"items": []}), Releases(), id="other labels"),
        pytest.param(
            (200, {"metadata": {}}), (200, {"items": [{"metadata": None}, "odd"]}), Releases(), id="no labels"
        ),
        pytest.param((200, {"metadata": {"labels": None}}), (200, ["odd"]), Releases(), id="odd answers"),
        pytest.param(FORBIDDEN, FORBIDDEN, Releases(), id="no right to read them"),
        pytest.param((200, labelled("0.3.1")), FORBIDDEN, Releases("0.3.1"), id="no right to read Deployments"),
        pytest.param(
            FORBIDDEN, (200, {"items": [labelled("0.3.1")]}), Releases(None, ("0.3.1",)), id="no right to CRDs"
        ),
    ],
)
def test_crd_and_operators_tell_their_releases(
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    crd: tuple[int, object],
    operators: tuple[int, object],
    releases: Releases,
) -> None:
    monkeypatch.setattr(Server, "answers", {CRD: crd, OPERATORS: operators}, raising=False)
    assert cluster_releases(connection) == releases


OWN = version()
MAJOR, MINOR, _ = OWN.split(".", 2)
NEXT = f"{MAJOR}.{int(MINOR) + 1}.2"
OURS = "ghcr.io/collectorfleet/collectorfleet"


@pytest.mark.parametrize(
    "cluster",
    [
        Releases(OWN, (OWN,)),
        Releases(f"{MAJOR}.{MINOR}.99", (f"{MAJOR}.{MINOR}.1-rc1",)),
        Releases(None, (OWN,)),
        Releases("main", ("dev",)),
        Releases(),
    ],
    ids=str,
)
@pytest.mark.parametrize("image", [f"{OURS}:{MAJOR}.{MINOR}.7", "lab:9.9.9", f"{OURS}@sha256:0", f"{OURS}:main", ""])
def test_the_same_minor_release_and_an_unknown_one_are_no_news(cluster: Releases, image: str) -> None:
    assert difference(cluster, {"cheetah": image}) is None


@pytest.mark.parametrize(
    "cluster",
    [Releases(NEXT), Releases(NEXT, (NEXT,)), Releases(None, (NEXT,)), Releases(NEXT, ("dev",))],
    ids=str,
)
def test_another_minor_release_is_one_line_with_what_to_install(cluster: Releases) -> None:
    wanted = ".".join(NEXT.split(".")[:2])
    assert difference(cluster, {"cheetah": f"{OURS}:{NEXT}"}) == (
        f"note: this program has version {OWN} of CollectorFleet, but the cluster has version {NEXT}; to use the "
        f"cluster's version, run: pip install 'collectorfleet[client]=={wanted}.*'"
    )


def test_another_major_release_is_another_one() -> None:
    assert f"the cluster has version {int(MAJOR) + 1}.{MINOR}.0; " in str(
        difference(Releases(f"{int(MAJOR) + 1}.{MINOR}.0"), {})
    )


@pytest.mark.parametrize(
    ("cluster", "sentence"),
    [
        (Releases(NEXT, (OWN,)), f"the CRD has version {NEXT} of CollectorFleet, but the operator has version {OWN}; "),
        (Releases(OWN, (NEXT,)), f"the CRD has version {OWN} of CollectorFleet, but the operator has version {NEXT}; "),
        (
            Releases(OWN, (OWN, NEXT)),
            f"the CRD has version {OWN} of CollectorFleet, but an operator has version {NEXT}; ",
        ),
    ],
    ids=["an older operator", "a newer operator", "one of several operators"],
)
def test_a_crd_of_another_release_than_the_operator_is_one_line(cluster: Releases, sentence: str) -> None:
    note = difference(cluster, {"cheetah": f"{OURS}:{NEXT}"})
    assert note == f"note: {sentence}upgrade CRD and operators to the same version"


@pytest.mark.parametrize("image", [f"{OURS}:{NEXT}", f"mirror:5000/x/collectorfleet/collectorfleet:{NEXT}@sha256:0"])
@pytest.mark.parametrize("cluster", [Releases(OWN, (OWN,)), Releases(OWN), Releases(None, (OWN,))], ids=str)
def test_an_image_of_a_newer_release_than_the_operator_is_one_line(cluster: Releases, image: str) -> None:
    assert difference(cluster, {"other": f"{OURS}:{OWN}", "cheetah": image}) == (
        f"note: the image of fleet cheetah has version {NEXT} of CollectorFleet, but the cluster has version "
        f"{MAJOR}.{MINOR}; upgrade CRD and operator before the images"
    )


def test_an_operator_serves_older_images() -> None:
    assert difference(Releases(OWN, (OWN,)), {"cheetah": f"{OURS}:0.0.9"}) is None
