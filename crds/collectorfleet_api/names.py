"""Names that operator, pods and tests share."""

from __future__ import annotations

from typing import Final

GROUP: Final = "collectorfleet.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "CollectorFleet"
PLURAL: Final = "collectorfleets"

OPERATOR_MANAGER: Final = "collectorfleet-operator"
DRIVER_MANAGER: Final = "collectorfleet-driver"

FLEET_LABEL: Final = f"{GROUP}/fleet"
ROLE_LABEL: Final = f"{GROUP}/role"
# The CRD's label that contains the release of chart, CRD and operator.
VERSION_LABEL: Final = "app.kubernetes.io/version"
# Labels of Kueue. A fleet with a queue waits for quota before the operator creates its objects.
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"

# The RayCluster has the fleet's name. KubeRay allows 53 characters, but cuts the name of the token's Secret to 50.
MAX_NAME_LENGTH: Final = 50
# The host name of an Indexed Job's pod is NAME-collectors-INDEX. DNS allows 63 characters.
MAX_NAME_LENGTH_OF_A_JOB: Final = 46

# The Ray resource of worker pods, one unit for each collector slot. Actors that request this resource run only in these
# pods.
COLLECTOR_RESOURCE: Final = "collector"
WORKER_GROUP: Final = "collectors"
# Ray resource and worker group of learner pods, one unit for each actor of a shard.
LEARNER_RESOURCE: Final = "learner"
LEARNER_GROUP: Final = "learners"
# Ray resource and worker group of evaluator pods, one unit for each evaluator.
EVALUATOR_RESOURCE: Final = "evaluator"
EVALUATOR_GROUP: Final = "evaluators"
RAY_PORT: Final = 6379
# KubeRay keeps a cluster's token in a Secret with the cluster's name.
TOKEN_SECRET_KEY: Final = "auth_token"  # noqa: S105  (a key's name, no secret)
TOKEN_MOUNT: Final = "/var/run/secrets/collectorfleet/ray"  # noqa: S105  (a path)

# For a fleet without Ray: the driver's port for collector hosts, and the key and mount of the token that driver
# and hosts share.
HOSTS_PORT: Final = 29400
HOSTS_TOKEN_KEY: Final = "token"  # noqa: S105  (a key's name, no secret)
HOSTS_TOKEN_MOUNT: Final = "/var/run/secrets/collectorfleet/hosts"  # noqa: S105  (a path)

# The container of the driver's pod that runs the driver. A pod template or an injector may add others.
DRIVER_CONTAINER: Final = "driver"

CODE_MOUNT: Final = "/opt/collectorfleet/code"
# The init container that unpacks the code tree, and the container's mounts: for a ConfigMap's archive, for a Secret and
# for certificate authorities.
CODE_CONTAINER: Final = "code"
CODE_ARCHIVE_MOUNT: Final = "/etc/collectorfleet-code"
CODE_CREDENTIALS_MOUNT: Final = "/var/run/secrets/collectorfleet/code"
CODE_AUTHORITY_MOUNT: Final = "/var/run/secrets/collectorfleet/code-ca"
# Mount of `driver.checkpoint` in the driver pod. Each fleet has a folder with its name.
CHECKPOINT_MOUNT: Final = "/var/lib/collectorfleet/checkpoints"

# The spec at the start of a driver: an annotation of its pod, mounted as a JSON file. A Job's pod template does not
# change. So a restarted driver runs the spec for which the image and the pods were chosen.
SPEC_ANNOTATION: Final = f"{GROUP}/spec"
SPEC_MOUNT: Final = "/etc/collectorfleet"
SPEC_FILE: Final = "spec.json"
# The annotations of an object may have 256 KiB in total.
MAX_SPEC_BYTES: Final = 200 * 1024

# The driver's Prometheus metrics. KubeRay uses the same port name for its pods.
METRICS_PORT: Final = 8080
METRICS_PORT_NAME: Final = "metrics"

# The timeline of a run, as compressed JSON in the `binaryData` of a ConfigMap.
TIMELINE_KEY: Final = "timeline.json.gz"

# Environment variables that the operator sets in the driver pod.
ENV_NAMESPACE: Final = "COLLECTORFLEET_NAMESPACE"
ENV_NAME: Final = "COLLECTORFLEET_NAME"
ENV_UID: Final = "COLLECTORFLEET_UID"
ENV_RAY_ADDRESS: Final = "COLLECTORFLEET_RAY_ADDRESS"
ENV_POD_IP: Final = "COLLECTORFLEET_POD_IP"
ENV_POD: Final = "COLLECTORFLEET_POD"
ENV_SPEC: Final = "COLLECTORFLEET_SPEC"
ENV_CODE: Final = "COLLECTORFLEET_CODE"
ENV_CHECKPOINTS: Final = "COLLECTORFLEET_CHECKPOINTS"
ENV_GRACE_SECONDS: Final = "COLLECTORFLEET_GRACE_SECONDS"
# Environment variable of the user or image: text (the default) or json.
ENV_LOG_FORMAT: Final = "COLLECTORFLEET_LOG_FORMAT"

# Exit codes of the driver. The Job's podFailurePolicy reads them. A user error is not retried. A driver that ended on
# the operator's order restarts when the operator requests it. A driver whose pod was deleted restarts at once, and this
# restart is not counted.
EXIT_INFRASTRUCTURE: Final = 1
EXIT_USER_ERROR: Final = 64
EXIT_STOPPED: Final = 65
EXIT_SIGTERM: Final = 128 + 15
EXIT_INTERRUPTED: Final = 128 + 2


def group_resource(group: str) -> str:
    """Return the Ray resource that only this group's worker pods have, one unit for each collector slot."""
    return f"{COLLECTOR_RESOURCE}-{group}"


def cluster_name(fleet: str) -> str:
    """Return the name of the RayCluster and of the Secret with its token."""
    return fleet


def driver_name(fleet: str) -> str:
    """Return the name of the driver's Job, ServiceAccount, Role, RoleBinding and Lease."""
    return f"{fleet}-driver"


def workload_name(fleet: str) -> str:
    """Return the name of the fleet's Workload in Kueue."""
    return fleet


def collectors_name(fleet: str) -> str:
    """Return the name of the Job whose pods run the collectors of a fleet without Ray."""
    return f"{fleet}-collectors"


def driver_address(fleet: str, namespace: str) -> str:
    """Return the driver's address for hosts of collectors: the driver's headless Service.

    The address does not depend on the cluster's domain.
    """
    return f"{driver_name(fleet)}.{namespace}.svc:{HOSTS_PORT}"


def timeline_name(fleet: str) -> str:
    """Return the name of the ConfigMap with the timeline of the fleet's run."""
    return f"{fleet}-timeline"


def network_policy_name(fleet: str) -> str:
    """Return the name of the NetworkPolicy, if the fleet requests one."""
    return fleet


def head_address(fleet: str, namespace: str) -> str:
    """Return the address of the head's GCS through KubeRay's head Service, independent of the cluster's domain."""
    return f"{fleet}-head-svc.{namespace}.svc:{RAY_PORT}"
