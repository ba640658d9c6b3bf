"""Build a TLS context that trusts the system's certificate authorities and the authority in the spec."""

from __future__ import annotations

import ssl
from typing import Final

from urllib3.util.ssl_ import create_urllib3_context

from collectorfleet.errors import InvalidOption
from collectorfleet_api.v1alpha1 import CertificateAuthority

_FIELD: Final = "spec.code.certificateAuthority"


def trusting(authority: CertificateAuthority, pem: bytes | None) -> ssl.SSLContext:
    """Return a context that trusts the certificates in ``pem`` and the system's certificate authorities.

    ``pem`` is the content of the key that ``authority`` names, or None if the key is missing. Raises InvalidOption
    if the key is missing or contains no certificate.
    """
    if pem is None:
        raise InvalidOption(f"{_FIELD}: {authority.source} has no {authority.key}; correct certificateAuthority.key")
    context = create_urllib3_context()
    context.load_default_certs()
    # Trust an intermediate authority without its root, as Python 3.13 does. Many labs distribute no root.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        # Only comments between certificates may have non-ASCII characters.
        context.load_verify_locations(cadata=pem.decode("ascii", errors="ignore"))
    except (ssl.SSLError, ValueError) as error:
        raise InvalidOption(
            f"{_FIELD}: {authority.key} of {authority.source} has no valid PEM certificate; use text that begins with "
            "-----BEGIN CERTIFICATE-----"
        ) from error
    return context
