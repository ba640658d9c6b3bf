"""An import path to the user's code, with keyword arguments."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.types import ImportPath, Preserved


class Factory(Model):
    """A callable of the user that builds an object: its import path and keyword arguments."""

    factory: ImportPath = Field(
        description=("Import path `package.module:function` of the callable that builds the object.")
    )
    kwargs: Preserved = Field(default_factory=dict, description="Keyword arguments of the factory.")
