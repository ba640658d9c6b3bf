"""The connection to the cluster and namespace that kubectl would use."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kubernetes import client, config
from kubernetes.client.rest import RESTResponse
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger
from urllib3 import Retry

from collectorfleet.client.object_names import checked_namespace
from collectorfleet.errors import ClusterUnavailable, InvalidKubeconfig, InvalidOption, one_sentence
from collectorfleet_api.nesting import MAX_LEVELS, decode

_NAMESPACE_OF_A_POD: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_DEFAULT: Final = "default"
_DEFAULT_FILE: Final = "~/.kube/config"
_LOGS: Final = "/log"
# In an answer with a list, each fleet lies two levels deep.
_MAX_LEVELS: Final = MAX_LEVELS + 2
_HAS_DEADLINE: Final = ContextVar("has_deadline", default=False)


class _Retries(Retry):
    """Repeat requests that a busy server rejected, after the delay that the server names."""

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        """Return whether a request with this answer is sent again. Inside :func:`without_retries`, return False."""
        return not _HAS_DEADLINE.get() and super().is_retry(method, status_code, has_retry_after)


# A request without an answer is not repeated. Otherwise the request could take longer than its timeout.
_RETRIES: Final = _Retries(total=3, connect=0, read=0, redirect=False, retry_after_max=10)


@contextmanager
def without_retries() -> Iterator[None]:
    """Inside the block, let a request fail if the server is busy, because the caller has its own deadline.

    Outside the block, a rejected request is repeated up to three times. Before each repetition, the client waits as
    long as the server asks, at most 10 s.
    """
    before = _HAS_DEADLINE.set(True)
    try:
        yield
    finally:
        _HAS_DEADLINE.reset(before)


@dataclass(frozen=True)
class Connection:
    """A cluster and the default namespace.

    ``context`` is the context of the kubeconfig. None: the connection uses the service account of a pod.
    """

    api: client.ApiClient
    namespace: str
    context: str | None = None

    @property
    def place(self) -> str:
        """Return the cluster's name for messages: ``context minikube (https://10.0.0.1:6443)``."""
        host = self.api.configuration.host
        return f"context {self.context} ({host})" if self.context else f"this pod ({host})"


class CheckedClient(client.ApiClient):
    """An API client that rejects answers of servers other than the API server, such as a proxy's login page."""

    def call_api(self, method: str, url: str, *rest: Any, **options: Any) -> RESTResponse:
        """Send one request. Raises ClusterUnavailable if the answer is not JSON, or if a log is not plain text.

        The log of a pod without a node is an empty answer without a content type.
        """
        answer = super().call_api(method, url, *rest, **options)
        found = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        is_log = url.partition("?")[0].endswith(_LOGS)
        wanted = "text/plain" if is_log else "application/json"
        is_empty_log = is_log and not found and answer.response.length_remaining == 0
        if 200 <= answer.status < 300 and found != wanted and not is_empty_log:
            answer.response.close()
            said = f"its answer is {found} and not {wanted}" if found else "its answer has no content type"
            raise ClusterUnavailable(
                f"{self.configuration.host} is not a Kubernetes API server: {said}; if a proxy answered with its login "
                "page, log in there, or choose another context"
            )
        return answer

    def deserialize(self, response_text: str, response_type: str, content_type: str | None) -> Any:
        """Parse an answer. In answers with fleets, values that are nested too deeply become null."""
        if response_type == "object":
            return decode(response_text, levels=_MAX_LEVELS)[0]
        return super().deserialize(response_text, response_type, content_type)


def connect(namespace: str | None = None, *, context: str | None = None, kubeconfig: str | None = None) -> Connection:
    """Connect as kubectl does, with a kubeconfig.

    A pod connects with its service account if ``kubeconfig``, ``KUBECONFIG`` and ``context`` are not set.

    Args:
        namespace: the default namespace. None: the namespace of the context or of the pod.
        context: a context of the kubeconfig. None: its current context.
        kubeconfig: path of a file. None: ``KUBECONFIG``, or ``~/.kube/config``.

    Raises:
        InvalidKubeconfig: the file or the context does not exist, or is invalid.
        InvalidOption: no namespace can have the name ``namespace``.
    """
    if namespace:
        checked_namespace(namespace)
    configuration = client.Configuration()
    configuration.retries = _RETRIES
    named = kubeconfig or os.environ.get("KUBECONFIG")
    if not named and not context and "KUBERNETES_SERVICE_HOST" in os.environ:
        with _explained("the service account of this pod"):
            config.load_incluster_config(client_configuration=configuration)
            found = _NAMESPACE_OF_A_POD.read_text().strip() if _NAMESPACE_OF_A_POD.exists() else _DEFAULT
        return Connection(CheckedClient(configuration), namespace or found)
    files = named or _DEFAULT_FILE
    with _explained(f"kubeconfig {files}"), _reported_by_plugins():
        merger = KubeConfigMerger(_without_empty_files(files))
        if merger.config is None:
            raise ConfigException("the file does not exist")
        # If the Kubernetes client renews a token, it writes the new token into the file, as kubectl does.
        loader = KubeConfigLoader(merger.config, context, config_base_path=None, config_persister=merger.save_changes)
        loader.load_and_set(configuration)
        chosen = loader.current_context
        of_context = chosen["context"].get("namespace")
        if of_context and not namespace:
            checked_namespace(of_context)
        if "://" not in configuration.host:
            raise ConfigException(f"server: {configuration.host} has no scheme; write https://{configuration.host}")
    return Connection(CheckedClient(configuration), namespace or of_context or _DEFAULT, str(chosen["name"]))


def contexts(kubeconfig: str | None = None) -> Sequence[str]:
    """Return the names of the contexts in the kubeconfig. Raises InvalidKubeconfig if the file does not exist."""
    files = kubeconfig or os.environ.get("KUBECONFIG") or _DEFAULT_FILE
    with _explained(f"kubeconfig {files}"):
        found, _ = config.list_kube_config_contexts(_without_empty_files(files))
        return [str(one["name"]) for one in found]


def _without_empty_files(files: str) -> str:
    """Return the list of kubeconfigs without empty files, which kubectl ignores and the Kubernetes client refuses.

    If all files are empty, return ``files``.
    """
    with_content = [one for one in files.split(os.pathsep) if one and not _is_empty(os.path.expanduser(one))]
    return os.pathsep.join(with_content) or files


def _is_empty(file: str) -> bool:
    return os.path.isfile(file) and os.path.getsize(file) == 0


@contextmanager
def _explained(source: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # of any class, because the Kubernetes client does not validate the file
        raise InvalidKubeconfig(
            f"cannot connect to a cluster: {source}: {_why(error)}; set KUBECONFIG, or name another file or context"
        ) from error


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, InvalidOption):
        return str(error)
    if isinstance(error, ConfigException):
        # The message of the Kubernetes client repeats an entry of the file in braces. The entry may have secrets.
        return one_sentence(str(error).partition("{")[0]).rstrip(" ./")
    return f"it is not a valid kubeconfig ({type(error).__name__})"


@contextmanager
def _reported_by_plugins() -> Iterator[None]:
    """Raise the error of a credential plugin. The Kubernetes client only logs it, and continues without credentials."""
    said = _Messages()
    root = logging.getLogger()
    root.addHandler(said)  # also keeps `logging.error` from configuring the root logger
    root.addFilter(said.take)
    try:
        yield
    finally:
        root.removeFilter(said.take)
        root.removeHandler(said)
    if said.texts:
        raise ConfigException(f"the credential plugin failed: {said.texts[0].removeprefix('exec: ')}")


class _Messages(logging.NullHandler):
    """A handler that collects the messages of the root logger."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def take(self, record: logging.LogRecord) -> bool:
        self.texts.append(record.getMessage())
        return False
