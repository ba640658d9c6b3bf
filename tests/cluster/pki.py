"""Write the credentials of a test cluster: three certificates, a signing key for service accounts, and bearer tokens.

Components identify themselves with tokens from the API server's static token file. So only three certificates are
necessary: the CA, the API server's serving certificate, and its client certificate for kubelets.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=365)
SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


@dataclass(frozen=True)
class User:
    """A user whom the API server identifies by the token in a kubeconfig. ``file`` is the kubeconfig's name."""

    file: str
    name: str
    group: str = ""


ADMIN = User("admin", "admin", "system:masters")
CONTROLLER_MANAGER = User("controller-manager", "system:kube-controller-manager")
SCHEDULER = User("scheduler", "system:kube-scheduler")
PROXY = User("proxy", "system:kube-proxy")


def node_user(node: str) -> User:
    """Return the user of the kubelet on a node."""
    return User(node, f"system:node:{node}", "system:nodes")


class Pki:
    """The paths of all credential files in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca = folder / "ca.crt"
        self.server_cert, self.server_key = folder / "apiserver.crt", folder / "apiserver.key"
        self.kubelet_client_cert, self.kubelet_client_key = folder / "kubelet-client.crt", folder / "kubelet-client.key"
        self.service_account_key, self.service_account_pub = folder / "sa.key", folder / "sa.pub"
        self.tokens = folder / "tokens.csv"

    def kubeconfig(self, user: User) -> Path:
        return self.folder / f"{user.file}.kubeconfig"

    def write(self, server: str, addresses: Iterable[str], users: Sequence[User]) -> None:
        """Write all files: certificates for ``addresses``, and for each user a token and a kubeconfig.

        ``server`` is the URL of the API server.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write_certificates(addresses)
        self._write_service_account_key()
        rows = []
        for user in users:
            token = secrets.token_hex(16)
            rows.append(f'{token},{user.name},{user.file},"{user.group}"\n')
            _write_private(self.kubeconfig(user), self._kubeconfig(server, token))
        _write_private(self.tokens, "".join(rows).encode())

    def _write_certificates(self, addresses: Iterable[str]) -> None:
        ca_key = ec.generate_private_key(ec.SECP256R1())
        ca_name = _name("collectorfleet-test-ca")
        ca = _certificate(ca_name, ca_name, ca_key).add_extension(x509.BasicConstraints(True, None), critical=True)
        self.ca.write_bytes(_sign(ca, ca_key))

        names: list[x509.GeneralName] = [x509.DNSName(name) for name in SERVER_NAMES]
        names += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        key = ec.generate_private_key(ec.SECP256R1())
        server = (
            _certificate(_name("kube-apiserver"), ca_name, key)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        )
        self.server_cert.write_bytes(_sign(server, ca_key))
        _write_private(self.server_key, _pem(key))

        key = ec.generate_private_key(ec.SECP256R1())
        client = _certificate(_name("kube-apiserver-kubelet-client", "system:masters"), ca_name, key).add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        self.kubelet_client_cert.write_bytes(_sign(client, ca_key))
        _write_private(self.kubelet_client_key, _pem(key))

    def _write_service_account_key(self) -> None:
        key = rsa.generate_private_key(65537, 2048)
        _write_private(self.service_account_key, _pem(key))
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.service_account_pub.write_bytes(public)

    def _kubeconfig(self, server: str, token: str) -> bytes:
        ca = base64.b64encode(self.ca.read_bytes()).decode()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority-data": ca}}],
            "users": [{"name": "test", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }
        return json.dumps(config).encode()


def _name(common: str, organization: str = "") -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organization:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


def _certificate(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    # The validity begins an hour ago, because clocks of containers and machine may differ.
    start = datetime.now(UTC) - timedelta(hours=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + LIFETIME)
    )


def _sign(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> bytes:
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _write_private(path: Path, data: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(data)
