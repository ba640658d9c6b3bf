"""What can be wrong on the way to a cluster, and the commands that ask one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.played_api import CONTEXT, NAME, NAMESPACE, Answer

from collectorfleet.cli.exit_codes import ExitCode


@dataclass(frozen=True)
class Fault:
    """What the server does with each request, how each command ends, and what its sentence says."""

    answer: Answer
    code: ExitCode
    sentence: str


LOGIN = b"<html><form>Log in</form></html>"


FAULTS = {
    "CRD not installed": Fault(
        played_api.send(404, b"404 page not found\n", "text/plain"),
        ExitCode.UNAVAILABLE,
        f"context {CONTEXT} (http://127.0.0.1:{{port}}) does not have the CRD of CollectorFleets; choose another "
        "context, or install",
    ),
    "CRD not installed, said as Status": Fault(
        played_api.refuse(404, "NotFound", "the server could not find the requested resource"),
        ExitCode.UNAVAILABLE,
        "does not have the CRD of CollectorFleets",
    ),
    "no such fleet": Fault(
        played_api.refuse(404, "NotFound", "", name=NAME, kind="collectorfleets"),
        ExitCode.FAILED,
        f"no fleet {NAME} in namespace {NAMESPACE} of context {CONTEXT}",
    ),
    "no rights": Fault(
        played_api.refuse(403, "Forbidden", 'collectorfleets is forbidden: User "jane" cannot list'),
        ExitCode.DENIED,
        'User "jane" cannot list',
    ),
    "expired token": Fault(
        played_api.refuse(401, "Unauthorized", "Unauthorized"), ExitCode.DENIED, f"context {CONTEXT} (http"
    ),
    "invalid": Fault(played_api.refuse(422, "Invalid", "spec.x: wrong"), ExitCode.USER, "spec.x: wrong"),
    "conflict": Fault(played_api.refuse(409, "Conflict", "changed\nmeanwhile"), ExitCode.FAILED, "changed meanwhile"),
    "server error": Fault(
        played_api.refuse(500, "InternalError", "etcd is full"), ExitCode.UNAVAILABLE, "etcd is full"
    ),
    "unknown field": Fault(
        played_api.refuse(500, "", "failed to create typed patch object (a/b): .spec.x: field not declared"),
        ExitCode.USER,
        ".spec.x: field not declared",
    ),
    "gateway without server": Fault(played_api.send(502, LOGIN, "text/html"), ExitCode.UNAVAILABLE, "Bad Gateway"),
    "redirect to a login page": Fault(
        played_api.send(302, b"", "text/html", Location="/login"), ExitCode.UNAVAILABLE, "HTTP 302"
    ),
    "login page": Fault(
        played_api.send(200, LOGIN, "text/html; charset=utf-8"), ExitCode.UNAVAILABLE, "its answer is text/html and not"
    ),
    "page without a type": Fault(
        played_api.send(200, LOGIN, ""), ExitCode.UNAVAILABLE, "is not a Kubernetes API server"
    ),
    "no JSON": Fault(played_api.send(200, LOGIN, "application/json"), ExitCode.UNAVAILABLE, CONTEXT),
    "binary": Fault(played_api.send(200, b"\xff\x00", "application/json"), ExitCode.UNAVAILABLE, CONTEXT),
    "JSON of something else": Fault(played_api.send(200, b'["a"]', "application/json"), ExitCode.UNAVAILABLE, CONTEXT),
    "empty object": Fault(played_api.send(200, b"{}", "application/json"), ExitCode.UNAVAILABLE, CONTEXT),
    "closed connection": Fault(
        played_api.close, ExitCode.UNAVAILABLE, f"no answer from the cluster of context {CONTEXT}"
    ),
    "half an answer": Fault(played_api.break_off, ExitCode.UNAVAILABLE, "the connection broke off"),
    "slow server": Fault(played_api.hang, ExitCode.UNAVAILABLE, "the request timed out"),
}


COMMANDS: dict[str, list[str]] = {
    "status": ["status", NAME],
    "status of all": ["status", "-A", "-l", "team=a", "-o", "wide"],
    "status -w": ["status", "--watch"],
    "top": ["top", "--once"],
    "logs": ["logs", NAME],
    "logs -f": ["logs", NAME, "-f"],
    "report": ["report", NAME],
    "export": ["export", NAME, "-o", "weights.pt"],
    "submit": ["submit", "folder"],
    "stop": ["stop", NAME],
    "resume": ["resume", NAME],
}


Said = Callable[[], tuple[str, str]]


def one_sentence(err: str) -> str:
    assert err.startswith("error: "), err
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1, err
    assert "Traceback" not in err
    assert "secret-token" not in err
    return err
