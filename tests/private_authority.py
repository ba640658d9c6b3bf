"""Make a certificate authority that no system trusts, and certificates for servers of tests."""

from __future__ import annotations

import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import HTTPServer
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

# Since Python 3.13, clients refuse an authority whose certificate does not state its key usage.
_SIGNS_ONLY = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


class PrivateAuthority:
    """An authority that signs certificates. Its own certificate is the file ``ca.crt`` in ``folder``.

    The authority ``above`` signs its certificate; without ``above``, the certificate is self-signed.
    """

    def __init__(self, folder: Path, name: str = "Lab CA", above: PrivateAuthority | None = None) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signer = above or self
        self.certificate = signer._sign(
            signer._builder(self._name, self._key)
            .add_extension(x509.BasicConstraints(True, None), critical=True)
            .add_extension(_SIGNS_ONLY, critical=True)
        )
        self.file = folder / "ca.crt"
        self.file.write_bytes(self.certificate.public_bytes(Encoding.PEM))

    def server_context(self, *names: str, expired: bool = False) -> ssl.SSLContext:
        """Return the TLS context of a server with a certificate for these host names and IP addresses.

        An ``expired`` certificate ended one day ago; others are valid for one day.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        builder = self._builder(subject, key, expired=expired).add_extension(
            x509.SubjectAlternativeName(list(map(_general_name, names))), critical=False
        )
        file = self._folder / f"{names[0]}.pem"
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(pem + self._sign(builder).public_bytes(Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, expired: bool = False
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=2))
            .not_valid_after(now + timedelta(days=-1 if expired else 1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(identifier, critical=False)
        )

    def _sign(self, builder: x509.CertificateBuilder) -> x509.Certificate:
        return builder.sign(self._key, hashes.SHA256())


def _general_name(name: str) -> x509.GeneralName:
    with suppress(ValueError):
        return x509.IPAddress(ip_address(name))
    return x509.DNSName(name)


def with_tls(server: HTTPServer, context: ssl.SSLContext) -> None:
    """Make a server that has not started yet use TLS."""
    server.socket = context.wrap_socket(server.socket, server_side=True)
