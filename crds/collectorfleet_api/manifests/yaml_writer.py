"""Writes YAML that kubectl reads with the same types.

PyYAML omits the quotes of a word that its own reader would read as text. kubectl would then read ``args: ["3e-4"]`` as
a number (see :mod:`collectorfleet_api.manifests.yaml_reader`).
"""

from __future__ import annotations

import unicodedata
from typing import Any, Final

import yaml

from collectorfleet_api.manifests.yaml_reader import plain_value

_WIDTH: Final = 120
_IN_TEXT: Final = "\n\t\u200c\u200d"


def to_yaml(*documents: Any) -> str:
    """Return YAML for documents in JSON's types. Keys keep their order. Lines wrap at 120 characters if possible."""
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=_WIDTH, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """A dumper without anchors, which people do not expect in a manifest."""

    allow_unicode: bool

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  (the base class names it)
        return True

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Write text between double quotes, with escapes for all characters outside of ASCII."""
        before, self.allow_unicode = self.allow_unicode, False
        try:
            super().write_double_quoted(text, split)
        finally:
            self.allow_unicode = before


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))


def _style(text: str) -> str | None:
    # PyYAML escapes only the control characters of ASCII. Some other control characters reverse or hide text on a
    # terminal.
    if not all(one.isprintable() or one in _IN_TEXT or unicodedata.category(one) == "Zs" for one in text):
        return '"'
    return "|" if "\n" in text else "'" if plain_value(text) != text else None


_Dumper.add_representer(str, _text)
