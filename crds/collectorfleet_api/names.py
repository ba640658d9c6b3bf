"""Names that the operator, the pods and the tests have to agree on."""

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
# Of the CRD: the release that chart, CRD and operator are of.
VERSION_LABEL: Final = "app.kubernetes.io/version"
# Kueue's, of a fleet that waits for quota before anything of it is made.
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"

# The RayCluster has the fleet's name. KubeRay takes 53 characters, but cuts the name of its token's Secret to 50.
MAX_NAME_LENGTH: Final = 50
# A pod of an Indexed Job has its host name from it: NAME-collectors-INDEX, of which DNS takes 63 characters.
MAX_NAME_LENGTH_OF_A_JOB: Final = 46

# The Ray resource of worker pods, one unit for each collector slot: actors that ask for it land on no other pod.
COLLECTOR_RESOURCE: Final = "collector"
WORKER_GROUP: Final = "collectors"
# The same of learner pods, one unit for each actor of a shard; and their worker group.
LEARNER_RESOURCE: Final = "learner"
LEARNER_GROUP: Final = "learners"
# The same of evaluator pods, each of which holds one.
EVALUATOR_RESOURCE: Final = "evaluator"
EVALUATOR_GROUP: Final = "evaluators"
RAY_PORT: Final = 6379
# Where KubeRay keeps a cluster's token: a Secret with the cluster's name.
TOKEN_SECRET_KEY: Final = "auth_token"  # noqa: S105  (a key's name, no secret)
TOKEN_MOUNT: Final = "/var/run/secrets/collectorfleet/ray"  # noqa: S105  (a path)

# Where the driver of a fleet without Ray listens for the hosts of its collectors, and the secret that they share.
HOSTS_PORT: Final = 29400
HOSTS_TOKEN_KEY: Final = "token"  # noqa: S105  (a key's name, no secret)
HOSTS_TOKEN_MOUNT: Final = "/var/run/secrets/collectorfleet/hosts"  # noqa: S105  (a path)

CODE_MOUNT: Final = "/opt/collectorfleet/code"
# What puts a tree there before a pod's own container starts, and where it finds a ConfigMap's archive, a Secret and
# certificate authorities.
CODE_CONTAINER: Final = "code"
CODE_ARCHIVE_MOUNT: Final = "/etc/collectorfleet-code"
CODE_CREDENTIALS_MOUNT: Final = "/var/run/secrets/collectorfleet/code"
CODE_AUTHORITY_MOUNT: Final = "/var/run/secrets/collectorfleet/code-ca"
# Where the driver pod sees `driver.checkpoint`; each fleet has a folder of its own name in it.
CHECKPOINT_MOUNT: Final = "/var/lib/collectorfleet/checkpoints"

# The spec that a driver was started with: on its pod as JSON, and there as a file. It stays with the Job, so that a
# driver that starts again runs what its image and its pods were made for.
SPEC_ANNOTATION: Final = f"{GROUP}/spec"
SPEC_MOUNT: Final = "/etc/collectorfleet"
SPEC_FILE: Final = "spec.json"
# Of 256 KiB that all annotations of an object may have.
MAX_SPEC_BYTES: Final = 200 * 1024

# The driver's Prometheus metrics; KubeRay calls the port of its pods' metrics the same.
METRICS_PORT: Final = 8080
METRICS_PORT_NAME: Final = "metrics"

# How a run went, in the `binaryData` of a ConfigMap: JSON, compressed.
TIMELINE_KEY: Final = "timeline.json.gz"

# What the operator tells the driver pod, in its environment.
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
# What a user or an image may tell it there: text (the default) or json.
ENV_LOG_FORMAT: Final = "COLLECTORFLEET_LOG_FORMAT"

# Exit codes of the driver. The Job's podFailurePolicy reads them. A user error is not retried. A driver that ended by
# an order starts again when the operator says so. A driver whose pod was deleted starts again at once, uncounted.
EXIT_INFRASTRUCTURE: Final = 1
EXIT_USER_ERROR: Final = 64
EXIT_STOPPED: Final = 65
EXIT_SIGTERM: Final = 128 + 15
EXIT_INTERRUPTED: Final = 128 + 2


def group_resource(group: str) -> str:
    """The Ray resource of a group's worker pods alone, one unit for each collector slot."""
    return f"{COLLECTOR_RESOURCE}-{group}"


def cluster_name(fleet: str) -> str:
    """Name of the RayCluster, and of the Secret in which KubeRay keeps its token."""
    return fleet


def driver_name(fleet: str) -> str:
    """Name of the driver's Job, ServiceAccount, Role, RoleBinding and Lease."""
    return f"{fleet}-driver"


def workload_name(fleet: str) -> str:
    """Name of the Workload by which Kueue counts the fleet."""
    return fleet


def collectors_name(fleet: str) -> str:
    """Name of the Job whose pods hold the collectors of a fleet without Ray."""
    return f"{fleet}-collectors"


def driver_address(fleet: str, namespace: str) -> str:
    """Address of the driver for hosts of collectors: its headless Service.

    It does not depend on the cluster's domain.
    """
    return f"{driver_name(fleet)}.{namespace}.svc:{HOSTS_PORT}"


def timeline_name(fleet: str) -> str:
    """Name of the ConfigMap with the timeline of the fleet's run."""
    return f"{fleet}-timeline"


def network_policy_name(fleet: str) -> str:
    """Name of the NetworkPolicy, if the fleet requests one."""
    return fleet


def head_address(fleet: str, namespace: str) -> str:
    """Address of the head's GCS, by KubeRay's name of the head service. It does not depend on the cluster's domain."""
    return f"{fleet}-head-svc.{namespace}.svc:{RAY_PORT}"
