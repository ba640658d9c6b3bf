"""Rules for options about the source of the user's code. Code outside the image has exactly one source."""

from __future__ import annotations

import re
from typing import Final

from collectorfleet_api.rules.combinations.combination import Combination
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

_COMMIT: Final = "^([0-9a-f]{40}|[0-9a-f]{64})$"
_REPOSITORY: Final = "(/[a-z0-9]+([._-]+[a-z0-9]+)*)+"
_BY_DIGEST: Final = f"^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{{1,5}})?{_REPOSITORY}@sha256:[0-9a-f]{{64}}$"
_COVERED: Final = r"^(https://|http://(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?(/|$))"


def _one_place(spec: CollectorFleetSpec) -> bool:
    code = spec.code
    return code is None or sum(one is not None for one in (code.config_map, code.archive, code.git, code.artifact)) == 1


def _archive_in_one_place(spec: CollectorFleetSpec) -> bool:
    archive = spec.code and spec.code.archive
    return not archive or (archive.config_map is None) is not (archive.url is None)


def _commit_in_full(spec: CollectorFleetSpec) -> bool:
    git = spec.code and spec.code.git
    return not git or re.fullmatch(_COMMIT, git.commit) is not None


def _artifact_by_digest(spec: CollectorFleetSpec) -> bool:
    artifact = spec.code and spec.code.artifact
    return not artifact or re.fullmatch(_BY_DIGEST, artifact.reference) is not None


def _password_is_covered(spec: CollectorFleetSpec) -> bool:
    git = spec.code and spec.code.git
    return not git or not git.credentials_secret or re.match(_COVERED, git.repository) is not None


def _authority_in_one_place(spec: CollectorFleetSpec) -> bool:
    authority = spec.code and spec.code.certificate_authority
    return not authority or (authority.config_map is None) is not (authority.secret is None)


def _authority_is_used(spec: CollectorFleetSpec) -> bool:
    code = spec.code
    return code is None or code.certificate_authority is None or code.is_fetched


CODE: Final = (
    Combination(
        "code-from-one-place",
        "code",
        _one_place,
        "[has(self.configMap), has(self.archive), has(self.git), has(self.artifact)].filter(one, one).size() == 1",
        "set exactly one of configMap, archive, git and artifact; if the code is in the image, leave spec.code out",
        on="code",
    ),
    Combination(
        "archive-from-one-place",
        "code.archive",
        _archive_in_one_place,
        "has(self.configMap) != has(self.url)",
        "set either configMap or url",
        on="code.archive",
    ),
    Combination(
        "git-commit-in-full",
        "code.git.commit",
        _commit_in_full,
        f"self.commit.matches('{_COMMIT}')",
        "not a full commit hash, and branches and tags can move; write all 40 hexadecimal digits (64 with SHA-256), as "
        "`git rev-parse HEAD` prints it",
        on="code.git",
    ),
    Combination(
        "artifact-by-digest",
        "code.artifact.reference",
        _artifact_by_digest,
        f"self.reference.matches('{_BY_DIGEST}')",
        "not a reference with a digest, and tags can move; write one such as ghcr.io/me/lab@sha256:..., with the "
        "digest from `crane digest ghcr.io/me/lab:TAG`",
        on="code.artifact",
    ),
    Combination(
        "git-password-over-https",
        "code.git",
        _password_is_covered,
        f"!has(self.credentialsSecret) || self.repository.matches(r'{_COVERED}')",
        "http would send the password of credentialsSecret unprotected; use an https URL for the repository",
        on="code.git",
    ),
    Combination(
        "code-path-needs-a-tree",
        "code.path",
        lambda spec: spec.code is None or spec.code.path is None or spec.code.config_map is None,
        "!has(self.path) || !has(self.configMap)",
        "the code in a ConfigMap has no folders; leave this field out, or use spec.code.archive, git or artifact",
        on="code",
    ),
    Combination(
        "certificate-authority-from-one-place",
        "code.certificateAuthority",
        _authority_in_one_place,
        "has(self.configMap) != has(self.secret)",
        "set either configMap or secret",
        on="code.certificateAuthority",
    ),
    Combination(
        "certificate-authority-needs-fetched-code",
        "code.certificateAuthority",
        _authority_is_used,
        "!has(self.certificateAuthority) || has(self.git) || has(self.artifact)"
        " || (has(self.archive) && has(self.archive.url))",
        "a certificate authority applies only to code from a server; set git, artifact or archive.url, or leave this "
        "field out",
        on="code",
    ),
)
