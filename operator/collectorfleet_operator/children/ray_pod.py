"""The pod template of head and worker pods, in which KubeRay starts Ray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.code import import_code_first
from collectorfleet_operator.children.pod_template import PodRole, pod_template
from collectorfleet_operator.objects import Object

# A head has nothing to finish, and may get no SIGTERM. If a command runs before `ray start`, a shell is the parent of
# `ray start`, and the shell does not forward SIGTERM.
_HEAD_GRACE_SECONDS: Final = 5
# Kubernetes' default, and the time between most spot notices and the loss of the node. Collectors end their rollouts in
# this time.
_WORKER_GRACE_SECONDS: Final = 30
# At SIGTERM, `ray start` asks the head to drain the node, and waits up to 30 s for Ray Serve to leave the node. Fleets
# have no Ray Serve, collectors end before the signal, and a deleted head does not answer.
_NO_DRAINING: Final = {"name": "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S", "value": "0"}
_ROLES_WITH_POD_NAME: Final = (PodRole.WORKER, PodRole.EVALUATOR)
# The script ends Ray once no actor in the pod has a connection to another host. A driver removes its collectors from
# the pod. An actor without a connection has neither a driver nor a head that could end the actor. Process titles
# distinguish actors from Ray's idle workers and agents. The kill runs in the background, because a hook that ends with
# its container fails.
_PRE_STOP_SCRIPT: Final = """
sockets() {
  for process in /proc/[0-9]*; do
    title=; IFS= read -r -d '' title <"$process/cmdline"
    case "$title" in
      ray::IDLE* | ray::*Agent* | ray::SPILL_* | ray::RESTORE_* | ray::DELETE_*) ;;
      ray::*) readlink "$process"/fd/* ;;
    esac
  done 2>/dev/null
}
busy() {
  actors=$(sockets)
  for table in /proc/net/tcp /proc/net/tcp6; do
    while read -r _ local remote state _ _ _ _ _ inode _; do
      [[ $state == 01 && ${local%:*} != "${remote%:*}" && $actors == *"socket:[$inode]"* ]] && return 0
    done <"$table"
  done 2>/dev/null
  return 1
}
while busy; do sleep 0.5; done
(sleep 0.2; kill -TERM -1) </dev/null >/dev/null 2>&1 &
""".strip()


def ray_pod_template(
    fleet: CollectorFleet, role: PodRole, container: Object, user: Mapping[str, Any], *, gpus: int, **pod: Any
) -> Object:
    """Return :func:`pod_template` for a pod in which KubeRay starts Ray. ``pod`` has more fields of the pod's spec."""
    before_ray_start = import_code_first(fleet)
    if before_ray_start:
        # KubeRay runs a container's own command before its `ray start`, in the same shell.
        container = {**container, "command": [before_ray_start]}
    container = {**container, "env": [*container.get("env", []), _NO_DRAINING]}
    is_worker = role is PodRole.WORKER
    if role in _ROLES_WITH_POD_NAME:
        # The hostname may differ from the pod's name: with the node's network, or if the template sets a hostname.
        own_name = {"name": names.ENV_POD, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
        container = {**container, "env": [*container.get("env", []), own_name]}
    if is_worker:
        container = {
            **container,
            "lifecycle": {"preStop": {"exec": {"command": ["/bin/bash", "-c", _PRE_STOP_SCRIPT]}}},
        }
    return pod_template(
        fleet,
        role,
        container,
        user,
        gpus=gpus,
        automountServiceAccountToken=False,
        terminationGracePeriodSeconds=_WORKER_GRACE_SECONDS if is_worker else _HEAD_GRACE_SECONDS,
        **pod,
    )
