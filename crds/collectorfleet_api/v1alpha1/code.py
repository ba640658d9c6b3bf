"""``spec.code``: the source of the user's Python code, if it is not in the image."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import LocalObjectReference, Model
from collectorfleet_api.v1alpha1.types import GitUrl, HttpUrl, ObjectName, Sha256, SubPath


class Archive(Model):
    """A package tree in one file: a zip, or a tar with or without compression."""

    config_map: ObjectName | None = Field(
        default=None,
        description="ConfigMap in the fleet's namespace. Its `binaryData` has the archive under `key`.",
    )
    key: str = Field(
        default="code.tar.gz",
        min_length=1,
        max_length=253,
        pattern=r"^[-._a-zA-Z0-9]+$",
        description="Key of the archive in the ConfigMap.",
    )
    url: HttpUrl | None = Field(default=None, description="URL from which the pods fetch the archive.")
    sha256: Sha256 = Field(
        description=(
            "SHA-256 of the archive in hexadecimal digits. A pod refuses an archive with another digest, because the "
            "content of a URL may change before the next pod fetches it."
        )
    )

    @property
    def digest(self) -> str:
        """Return the digest that a pod reports once it has unpacked this tree."""
        return f"sha256:{self.sha256}"


class Git(Model):
    """A package tree in a git repository, at one commit."""

    repository: GitUrl = Field(
        description="URL from which the pods fetch the repository, such as `https://git.example.com/me/lab.git`."
    )
    commit: str = Field(
        max_length=64,
        description=(
            "Full hash of the commit, in hexadecimal digits. Branches and tags are refused, because they can move, and "
            "pods could then run different code."
        ),
    )
    credentials_secret: LocalObjectReference | None = Field(
        default=None,
        description=(
            "Secret with the keys `username` and `password`, such as a Secret of type `kubernetes.io/basic-auth`. Only "
            "the container that fetches the tree gets the Secret."
        ),
    )

    @property
    def digest(self) -> str:
        """Return the digest that a pod reports once it has unpacked this tree."""
        return f"git:{self.commit}"


class Artifact(Model):
    """A package tree in a registry: the layers of an OCI artifact or an image, unpacked in order."""

    reference: str = Field(
        max_length=512,
        description=(
            "Registry, repository and digest, such as `ghcr.io/me/lab@sha256:...`. Tags are refused, because they can "
            "move, and pods could then run different code."
        ),
    )
    credentials_secret: LocalObjectReference | None = Field(
        default=None,
        description=(
            "Secret of type `kubernetes.io/dockerconfigjson`. Only the container that fetches the tree gets the Secret."
        ),
    )

    @property
    def digest(self) -> str:
        """Return the digest that a pod reports once it has unpacked this tree."""
        return self.reference.partition("@")[2]


class CertificateAuthority(Model):
    """PEM certificates that pods trust when they fetch code, in addition to the system's certificates."""

    config_map: ObjectName | None = Field(
        default=None,
        description="ConfigMap in the fleet's namespace that has the certificates under `key`.",
    )
    secret: ObjectName | None = Field(
        default=None,
        description=(
            "Secret in the fleet's namespace that has the certificates under `key`. An alternative to `configMap`."
        ),
    )
    key: str = Field(
        default="ca.crt",
        min_length=1,
        max_length=253,
        pattern=r"^[-._a-zA-Z0-9]+$",
        description="Key in the ConfigMap or Secret. Its value is PEM text with one or several certificates.",
    )

    @property
    def source(self) -> str:
        """Return kind and name of the object that has the certificates."""
        return f"ConfigMap {self.config_map}" if self.config_map is not None else f"Secret {self.secret}"


class Code(Model):
    config_map: ObjectName | None = Field(
        default=None,
        description=(
            "ConfigMap in the fleet's namespace whose keys are Python files. Head, workers and driver mount the "
            "ConfigMap and put its files first on the import path."
        ),
    )
    archive: Archive | None = Field(
        default=None,
        description=(
            "Package tree in an archive. Head, workers and driver unpack the tree before they start, and put the tree "
            "first on the import path. An alternative to `configMap`."
        ),
    )
    git: Git | None = Field(
        default=None,
        description=(
            "Package tree in a git repository. The pods unpack and import this tree in the same way as an `archive`. "
            "An alternative to `archive`."
        ),
    )
    artifact: Artifact | None = Field(
        default=None,
        description=(
            "Package tree in an OCI registry. The pods unpack and import this tree in the same way as an `archive`. An "
            "alternative to `archive`."
        ),
    )
    path: SubPath | None = Field(
        default=None,
        description=(
            "Folder of the tree, such as `src`. This folder is on the import path. Default: the root of the tree."
        ),
    )

    certificate_authority: CertificateAuthority | None = Field(
        default=None,
        description=(
            "Certificate authorities that the pods trust when they fetch the tree, in addition to the authorities of "
            "the image. Set this field for servers and proxies with a private authority."
        ),
    )

    @property
    def tree(self) -> Archive | Git | Artifact | None:
        """Return the package tree, or None if the code comes from a ConfigMap's keys."""
        return self.archive or self.git or self.artifact

    @property
    def is_fetched(self) -> bool:
        """Return whether pods fetch the tree from a server."""
        archived = self.archive is not None and self.archive.url is not None
        return archived or self.git is not None or self.artifact is not None

    @property
    def credentials_secret(self) -> str | None:
        """Return the name of the Secret for fetching the tree, or None."""
        source = self.git or self.artifact
        return source.credentials_secret.name if source and source.credentials_secret else None
