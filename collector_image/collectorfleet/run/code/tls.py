"""Certificate authorities that servers of code are trusted by: those of the system, and those that the spec names."""

from __future__ import annotations

import ssl
from typing import Final

from urllib3.util.ssl_ import create_urllib3_context

from collectorfleet.errors import InvalidOption
from collectorfleet_api.v1alpha1 import CertificateAuthority

_FIELD: Final = "spec.code.certificateAuthority"


def trusting(authority: CertificateAuthority, pem: bytes | None) -> ssl.SSLContext:
    """Return a context that trusts the certificates in ``pem`` in addition to the system's.

    ``pem`` is the content of the key that ``authority`` names, or None if there is no such key. Raises InvalidOption
    if there is none, or no certificate in it.
    """
    if pem is None:
        raise InvalidOption(f"{_FIELD}: {authority.source} has no {authority.key}; name the key")
    context = create_urllib3_context()
    context.load_default_certs()
    # An issuing authority is enough, as it is from Python 3.13 on: many labs hand out no root.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        # Only comments between certificates may have other characters.
        context.load_verify_locations(cadata=pem.decode("ascii", errors="ignore"))
    except (ssl.SSLError, ValueError) as error:
        raise InvalidOption(
            f"{_FIELD}: {authority.key} of {authority.source} has no certificates in PEM, or a broken one; put text "
            "there that begins with -----BEGIN CERTIFICATE-----"
        ) from error
    return context
