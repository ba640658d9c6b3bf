"""Names of files that usually contain a key, a password or a token."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import Final

_TEXT: Final = ("json", "yaml", "yml", "toml", "ini", "cfg", "txt", "csv")
_STEMS_OF_TEXT: Final = (
    *("*credentials*", "client_secret*", "secret", "secrets", "*-secret", "*-secrets", "*_secret", "*_secrets"),
    *("token", "tokens", "password*", "kubeconfig*"),
)
_SECRET: Final = (
    *("id_rsa", "id_dsa", "id_ecdsa*", "id_ed25519*", "*_rsa", "*_dsa", "*_ecdsa", "*_ed25519"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.pkcs12", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.keytab"),
    *(".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".pgpass", ".pypirc", ".npmrc", ".htpasswd"),
    *(".git-credentials", ".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", ".token", ".vault-token"),
    # Google's key files have such names and end with .json. Files with such names and other suffixes are Kubernetes
    # manifests.
    *("*service-account*.json", "*service_account*.json", "*serviceaccount*.json"),
    *("credentials", "kubeconfig", "*.kubeconfig", "*.tfstate", "*.tfvars"),
    *(f"{stem}.{suffix}" for stem in _STEMS_OF_TEXT for suffix in _TEXT),
)
_NOT_SECRET: Final = ("*.pub", ".env.example", ".env.sample", ".env.template", ".env.dist")
_OF_COPIES: Final = re.compile(r"(~|\.(bak|backup|old|orig|save|swp))+\Z")
_IS_SECRET: Final = re.compile("|".join(map(translate, _SECRET)))
_IS_NOT_SECRET: Final = re.compile("|".join(map(translate, _NOT_SECRET)))


def looks_secret(name: str) -> bool:
    """Return whether the path's last part is a usual name for a file with secrets, or for a copy of such a file."""
    last = _OF_COPIES.sub("", name.rpartition("/")[2].lower())
    return _IS_SECRET.match(last) is not None and _IS_NOT_SECRET.match(last) is None
