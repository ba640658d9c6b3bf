"""One tenant's objects, and a webhook that is down, keep the fleets of no other tenant waiting."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cluster.client import Object, condition
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.cluster.process import Component
from tests.integration import played
from tests.integration.operator_metrics import Scrape
from tests.integration.operator_process import MANIFEST, kubeconfig_of, operator
from tests.integration.played import Pods, manifest, message, told
from tests.unit.collectorfleet_operator.test_isolation import ANY_JSON, DEEP, places, theirs, with_odd
from tests.wait import eventually

from collectorfleet_api import names
from collectorfleet_operator.children.owner import FLEET

# A fleet has its first status within a second on a quiet machine, and none within 45 s where the operator has stopped.
SERVED_WITHIN = 30
LISTED_AGAIN = 90
DEPTHS = (100, 990, 2_000, 5_000)
WEBHOOK = "down.test.local"


def deep(name: str, levels: int) -> str:
    """The text of a fleet; no encoder of Python's writes one that is so deep."""
    fleet = manifest(name, environment={"factory": "envs:make", "kwargs": {"x": DEEP}})
    return json.dumps(fleet).replace(json.dumps(DEEP), '{"a":' * levels + "1" + "}" * levels)


def create(plane: ControlPlane, namespace: str, text: str) -> None:
    plane.kubectl("create", "--validate=false", "-n", namespace, "-f", "-", input=text)


def is_served(plane: ControlPlane, namespace: str, name: str) -> None:
    """A fleet that is applied now has its pods soon."""
    plane.apply(manifest(name, replicas=1), namespace)
    plane.wait_for(f"cfleet/{name}", lambda f: told(f, "Ready")[0] == "False", namespace, within=SERVED_WITHIN)
    Pods(plane, namespace, name).wait("head", 1, within=SERVED_WITHIN)


def says(plane: ControlPlane, namespace: str, name: str, type_: str, expected: tuple[str, str]) -> Object:
    """Wait until a condition of the fleet has this status and reason; return the fleet with its status alone.

    Python decodes no object that is nested too deeply.
    """

    def status() -> Object:
        said = plane.kubectl("get", f"cfleet/{name}", "-n", namespace, "-o", "jsonpath={.status}")
        return {"status": json.loads(said or "{}")}

    what = f"{type_} of fleet {name}: {expected}"
    return eventually(status, until=lambda f: told(f, type_) == expected, within=SERVED_WITHIN, what=what)


def restart(process: Component) -> None:
    process.kill()
    process.launch()
    process.wait_ready(30)


def test_a_fleet_that_is_nested_too_deeply_is_reported_and_stops_no_other(
    control_plane: ControlPlane, fleet_operator: Component, namespace: str
) -> None:
    for levels in DEPTHS:
        create(control_plane, namespace, deep(f"deep-{levels}", levels))
    is_served(control_plane, namespace, "before")
    for levels in DEPTHS:
        seen = says(control_plane, namespace, f"deep-{levels}", "Stalled", ("True", "InvalidSpec"))
        assert told(seen, "Ready") == ("False", "InvalidSpec")
        place = "spec.environment.kwargs.x.a: nested more than 64 levels deep"
        assert place in message(seen, "Stalled")
    # They come by the lists of a new process, too, and not by a watch alone.
    restart(fleet_operator)
    is_served(control_plane, namespace, "after")
    control_plane.kubectl("replace", "-n", namespace, "-f", "-", input=json.dumps(manifest("deep-990", replicas=1)))
    Pods(control_plane, namespace, "deep-990").wait("head", 1, within=SERVED_WITHIN)


@pytest.mark.usefixtures("fleet_operator")
def test_a_fleet_that_runs_goes_on_when_it_is_edited_to_be_nested_too_deeply(
    control_plane: ControlPlane, namespace: str
) -> None:
    played.start(control_plane, namespace)
    job = control_plane.get("job/fleet-driver", namespace)
    kwargs = '{"a":' * 990 + "1" + "}" * 990
    patch = f'{{"spec":{{"environment":{{"kwargs":{kwargs}}}}}}}'
    control_plane.kubectl("patch", "cfleet/fleet", "-n", namespace, "--type=merge", "-p", patch)
    seen = says(control_plane, namespace, "fleet", "UpToDate", ("False", "InvalidSpec"))
    assert "the driver continues with generation 1 of the spec" in message(seen, "UpToDate")
    assert told(seen, "Ready") == ("True", "Collecting")
    assert control_plane.get("job/fleet-driver", namespace)["metadata"]["uid"] == job["metadata"]["uid"]
    assert len(Pods(control_plane, namespace).of("worker")) == 1


@pytest.mark.parametrize(
    "time", ["0000-01-01T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"]
)
def test_whatever_time_a_driver_writes_into_its_lease_a_new_operator_serves(
    control_plane: ControlPlane, fleet_operator: Component, namespace: str, time: str
) -> None:
    played.start(control_plane, namespace)
    patch = json.dumps({"spec": {"holderIdentity": "driver", "renewTime": time}})
    control_plane.kubectl("patch", "lease/fleet-driver", "-n", namespace, "--type=merge", "-p", patch)
    restart(fleet_operator)
    is_served(control_plane, namespace, "after")


def test_whatever_time_a_condition_has_a_new_operator_serves(
    control_plane: ControlPlane, fleet_operator: Component, namespace: str
) -> None:
    _, fleet = played.start(control_plane, namespace)
    ready = condition(fleet, "Ready")
    assert ready is not None
    odd = [{**ready, "lastTransitionTime": "2026-01-01T00:00:00+99:99"}]
    fleet_operator.kill()
    patch = json.dumps({"status": {"conditions": odd}})
    control_plane.kubectl("patch", "cfleet/fleet", "-n", namespace, "--subresource=status", "--type=merge", "-p", patch)
    fleet_operator.launch()
    fleet_operator.wait_ready(30)
    is_served(control_plane, namespace, "after")
    control_plane.wait_for("cfleet/fleet", lambda f: "+99:99" not in json.dumps(f["status"]), namespace)


@contextmanager
def webhook(plane: ControlPlane, namespace: str, port: int) -> Iterator[None]:
    """RayClusters of the namespace are to be admitted by somebody on this port of the API server's host."""
    config = yaml.safe_load(plane.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
    ca = config["clusters"][0]["cluster"].get("certificate-authority-data")
    if ca is None:
        file = Path(config["clusters"][0]["cluster"]["certificate-authority"])
        ca = base64.b64encode(file.read_bytes()).decode()
    resources = {"apiGroups": ["ray.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["rayclusters"]}
    plane.apply(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": namespace},
            "webhooks": [
                {
                    "name": WEBHOOK,
                    "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": ca},
                    "rules": [resources],
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "failurePolicy": "Fail",
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                }
            ],
        }
    )
    probe = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "probe"}}
    probe |= {"spec": {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "ray", "image": "i"}]}}}}}

    def is_in_force() -> bool:
        try:
            plane.kubectl("create", "-n", namespace, "--dry-run=server", "-f", "-", input=json.dumps(probe))
        except KubernetesError as error:
            # A busy API server may fail for other reasons. It waits 10 s for a webhook that hangs.
            return WEBHOOK in str(error)
        return False

    try:
        eventually(is_in_force, within=60, what="the webhook in force")
        yield
    finally:
        plane.delete(f"validatingwebhookconfiguration/{namespace}")


@pytest.mark.usefixtures("fleet_operator")
@pytest.mark.parametrize(
    ("hangs", "words"),
    [
        pytest.param(False, f'failed calling webhook "{WEBHOOK}"', id="refuses connections"),
        pytest.param(
            True,
            "webhook",
            id="hangs",
            marks=pytest.mark.variant_of(
                "tests/integration/test_operator_isolation.py::test_the_status_names_a_webhook_that_is_down_and_the_fleet_comes_when_it_is_gone"
            ),
        ),
    ],
)
def test_the_status_names_a_webhook_that_is_down_and_the_fleet_comes_when_it_is_gone(
    control_plane: ControlPlane, namespace: str, hangs: bool, words: str
) -> None:
    with socket.socket() as hook:
        hook.bind(("127.0.0.1", 0))
        if hangs:
            hook.listen()  # and never accepts
        with webhook(control_plane, namespace, hook.getsockname()[1]):
            control_plane.apply(manifest(replicas=1), namespace)
            seen = control_plane.wait_for(
                "cfleet/fleet",
                lambda f: told(f, "RayClusterReady")[1] == "WriteFailed",
                namespace,
                within=SERVED_WITHIN,
            )
            assert words in message(seen, "Ready")
            assert told(seen, "Stalled") == ("False", "Progressing")
    Pods(control_plane, namespace).wait("head", 1, within=60)
    control_plane.wait_for("cfleet/fleet", lambda f: told(f, "Ready")[1] != "WriteFailed", namespace)


@pytest.mark.usefixtures("fleet_crd")
def test_a_namespace_without_rights_keeps_no_other_from_being_served(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Of several that an operator serves, before and after it is started again."""
    roles = [obj for obj in yaml.safe_load_all(MANIFEST.read_text()) if obj["kind"] == "ClusterRole"]
    control_plane.apply(roles)
    with ExitStack() as stack:
        a, b, c, own = (stack.enter_context(control_plane.temporary_namespace(f"tenant-{one}")) for one in "abco")
        control_plane.kubectl("create", "serviceaccount", "operator", "-n", own)
        for one in (a, b, c):
            bind(control_plane, own, one)
        account = kubeconfig_of(control_plane, tmp_path, own, "operator")
        process = stack.enter_context(
            operator(control_plane, tmp_path, *(f"--namespace={one}" for one in (a, b, c)), account=account)
        )
        for one in (a, b, c):
            is_served(control_plane, one, "first")
        control_plane.delete("rolebinding/operator", b)
        eventually(
            lambda: "refuses a list" in process.log.read_text(), within=LISTED_AGAIN, what="the refusal in the log"
        )
        for one in (a, c):
            is_served(control_plane, one, "second")
            # Nobody watches ServiceAccounts.
            control_plane.delete("serviceaccount/first-driver", one)
        for one in (a, c):
            eventually(
                lambda one=one: control_plane.find("serviceaccount/first-driver", one),  # type: ignore[misc]
                within=LISTED_AGAIN,
                what="the ServiceAccount that a list missed",
            )
        restart(process)
        for one in (a, c):
            is_served(control_plane, one, "third")
        bind(control_plane, own, b)
        control_plane.apply(manifest("second", replicas=1), b)
        Pods(control_plane, b, "second").wait("head", 1, within=LISTED_AGAIN)


def bind(plane: ControlPlane, own: str, namespace: str) -> None:
    account = f"--serviceaccount={own}:operator"
    plane.kubectl(
        "create", "rolebinding", "operator", "--clusterrole=collectorfleet-operator", account, "-n", namespace
    )


OBJECTS = [obj for objects in theirs().values() for obj in objects]
# Fields of a fleet that may hold any JSON.
ANY = (
    ("spec", "environment", "kwargs"),
    ("spec", "policy", "kwargs"),
    ("spec", "driver", "train", "kwargs"),
    ("status",),
)


ANY_MAPPING = st.dictionaries(st.sampled_from(["a", "conditions", "phase", "collectors", "progress"]), ANY_JSON)


@st.composite
def odd_objects(draw: st.DrawFn) -> Object:
    if draw(st.booleans()):
        return with_odd(theirs()[FLEET][0], draw(st.sampled_from(ANY)), draw(ANY_MAPPING))
    obj = draw(st.sampled_from(OBJECTS))
    within = [path for path in places(obj) if path[0] not in ("apiVersion", "kind", "metadata")]
    return with_odd(obj, draw(st.sampled_from(within)), draw(ANY_JSON)) if within else obj


def test_whatever_two_hundred_objects_hold_other_fleets_are_served(
    control_plane: ControlPlane, fleet_operator: Component, namespace: str
) -> None:
    """Those that the API server stores; the rest it refuses."""
    stored = []
    numbers = iter(range(1_000_000))

    @settings(max_examples=20, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(odd_objects(), min_size=10, max_size=10))
    def store(objects: list[Object]) -> None:
        named = {f"odd-{next(numbers)}": obj for obj in objects}
        texts = [as_text(obj, name) for name, obj in named.items()]
        everything = f'{{"apiVersion":"v1","kind":"List","items":[{",".join(texts)}]}}'
        try:
            made = control_plane.kubectl(
                *("create", "--validate=false", "-n", namespace, "-o", "name", "-f", "-"), input=everything
            )
        except KubernetesError as error:
            made = error.stdout
        stored.extend(made.split())
        for name, obj in named.items():
            if f"collectorfleet.collectorfleet.dev/{name}" in made.split():
                write_status(control_plane, namespace, f"cfleet/{name}", obj.get("status"))

    store()
    assert len(stored) >= 50
    assert len({name.split("/")[0] for name in stored}) >= 2
    with control_plane.temporary_namespace("beside") as beside:
        is_served(control_plane, beside, "before")
        restart(fleet_operator)
        is_served(control_plane, beside, "after")
    assert Scrape(fleet_operator).total("reconciles_total", outcome="Done") > 0


def as_text(obj: Object, name: str) -> str:
    labels = {**obj["metadata"].get("labels", {}), names.FLEET_LABEL: name}
    whole = {**obj, "metadata": {"name": name, "labels": labels}}
    return json.dumps(whole).replace(json.dumps(DEEP), "[" * 1_000 + "]" * 1_000)


def write_status(plane: ControlPlane, namespace: str, name: str, status: object) -> None:
    text = json.dumps({"status": status}).replace(json.dumps(DEEP), "[" * 1_000 + "]" * 1_000)
    try:
        plane.kubectl("patch", name, "-n", namespace, "--subresource=status", "--type=merge", "-p", text)
    except KubernetesError:
        return
