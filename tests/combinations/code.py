"""Of `spec.code`."""

from __future__ import annotations

import pytest

from tests.combinations.parts import ARTIFACT, GIT

REFUSED = [
    pytest.param(
        {"spec.code": {"configMap": "cheetah", "archive": {"configMap": "cheetah-tree", "sha256": "0" * 64}}},
        "spec.code: set exactly one of configMap, archive, git and artifact; if the code is in the image, leave "
        "spec.code out",
        id="code from two places",
    ),
    pytest.param(
        {"spec.code": {"archive": {"sha256": "0" * 64}}},
        "spec.code.archive: set either configMap or url",
        id="an archive from nowhere",
    ),
    pytest.param(
        {"spec.code": {"git": GIT, "artifact": ARTIFACT}},
        "spec.code: set exactly one of configMap, archive, git and artifact; if the code is in the image, leave "
        "spec.code out",
        id="code from a repository and a registry",
    ),
    pytest.param(
        {"spec.code": {"git": GIT | {"repository": "http://example.com/a.git", "credentialsSecret": {"name": "me"}}}},
        "spec.code.git: http would send the password of credentialsSecret unprotected; use an https URL for the "
        "repository",
        id="a password in the clear",
    ),
    pytest.param(
        {"spec.code": {"git": GIT | {"commit": "main"}}},
        "spec.code.git.commit: not a full commit hash, and branches and tags can move; write all 40 hexadecimal digits "
        "(64 with SHA-256), as `git rev-parse HEAD` prints it",
        id="a branch",
    ),
    pytest.param(
        {"spec.code": {"git": GIT | {"commit": "v1.2"}}},
        "spec.code.git.commit: not a full commit hash, and branches and tags can move; write all 40 hexadecimal digits "
        "(64 with SHA-256), as `git rev-parse HEAD` prints it",
        id="a tag of git",
    ),
    pytest.param(
        {"spec.code": {"git": GIT | {"commit": "0123abc"}}},
        "spec.code.git.commit: not a full commit hash, and branches and tags can move; write all 40 hexadecimal digits "
        "(64 with SHA-256), as `git rev-parse HEAD` prints it",
        id="a commit in short",
    ),
    pytest.param(
        {"spec.code": {"artifact": {"reference": "ghcr.io/me/cheetah:latest"}}},
        "spec.code.artifact.reference: not a reference with a digest, and tags can move; write one such as "
        "ghcr.io/me/lab@sha256:..., with the digest from `crane digest ghcr.io/me/lab:TAG`",
        id="a tag of a registry",
    ),
    pytest.param(
        {"spec.code": {"artifact": {"reference": "cheetah"}}},
        "spec.code.artifact.reference: not a reference with a digest, and tags can move; write one such as "
        "ghcr.io/me/lab@sha256:..., with the digest from `crane digest ghcr.io/me/lab:TAG`",
        id="no registry",
    ),
    pytest.param(
        {"spec.code": {"configMap": "cheetah", "path": "src"}},
        "spec.code.path: the code in a ConfigMap has no folders; leave this field out, or use spec.code.archive, git "
        "or artifact",
        id="a folder of a ConfigMap",
    ),
    pytest.param(
        {"spec.code": {"git": GIT, "certificateAuthority": {"configMap": "lab-ca", "secret": "lab-ca"}}},
        "spec.code.certificateAuthority: set either configMap or secret",
        id="a certificate authority from two places",
    ),
    pytest.param(
        {"spec.code": {"artifact": ARTIFACT, "certificateAuthority": {"key": "ca.pem"}}},
        "spec.code.certificateAuthority: set either configMap or secret",
        id="a certificate authority from nowhere",
    ),
    pytest.param(
        {"spec.code": {"configMap": "cheetah", "certificateAuthority": {"configMap": "lab-ca"}}},
        "spec.code.certificateAuthority: a certificate authority applies only to code from a server; set git, artifact "
        "or archive.url, or leave this field out",
        id="a certificate authority of files in a ConfigMap",
    ),
    pytest.param(
        {
            "spec.code": {
                "archive": {"configMap": "cheetah-tree", "sha256": "0" * 64},
                "certificateAuthority": {"configMap": "lab-ca"},
            }
        },
        "spec.code.certificateAuthority: a certificate authority applies only to code from a server; set git, artifact "
        "or archive.url, or leave this field out",
        id="a certificate authority of an archive in a ConfigMap",
    ),
]
