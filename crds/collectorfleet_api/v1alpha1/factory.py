"""The user's code by import path, wherever the resource names it."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.types import ImportPath, Preserved


class Factory(Model):
    """Code of the user that builds something: an import path and its keyword arguments."""

    factory: ImportPath = Field(
        description=("Import path `package.module:function` of the callable that builds the object.")
    )
    kwargs: Preserved = Field(default_factory=dict, description="Keyword arguments of the factory.")
