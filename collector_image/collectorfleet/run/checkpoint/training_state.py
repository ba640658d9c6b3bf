"""Register a training function's objects for checkpoints, and serialize their states into one block of bytes.

The bytes are a snapshot. Training continues once the snapshot exists, and another thread writes it to disk.
"""

from __future__ import annotations

import io
import logging
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from collectorfleet.errors import UserCodeError, with_article

log = logging.getLogger(__name__)

# These types are restored in place. Other objects need state_dict() and load_state_dict().
_HOLDERS = (dict, list, deque)


class TrainingState:
    """The registered objects, and the checkpoint's states of objects that are not registered yet."""

    def __init__(self, state_file: Path | None = None) -> None:
        """Read the state of a checkpoint. Raises UserCodeError if the file cannot be unpickled."""
        self._objects: dict[str, Any] = {}
        self._restored: dict[str, bool] = {}
        self._waiting: dict[str, Any] = {}
        self._where = f"checkpoint {state_file}"
        if state_file is not None:
            try:
                # Unpickling needs the user's classes. A user who can write the file can run code here, like a user who
                # can change the image.
                self._waiting = torch.load(state_file, map_location="cpu", weights_only=False)
            except Exception as error:  # (unpickling calls the user's code)
                raise UserCodeError.of(self._where, error) from error

    def keep(self, objects: Mapping[str, Any]) -> bool:
        """Register ``objects``, and restore their states. Returns whether the checkpoint has their states.

        Raises:
            TypeError: an object cannot be restored in place.
            ValueError: a name is used for another object, or the checkpoint has only some of the names.
            UserCodeError: an object does not accept its state.
        """
        new = {name: found for name, found in objects.items() if self._is_new(name, found)}
        there = sorted(new.keys() & self._waiting.keys())
        missing = sorted(new.keys() - self._waiting.keys())
        if there and missing:
            raise ValueError(
                f"run.keep: {self._where} contains {', '.join(there)}, but not {', '.join(missing)}; pass the objects "
                "that it does not contain in a separate call of run.keep"
            )
        for name, found in new.items():
            self._restored[name] = name in self._waiting
            if name in self._waiting:
                self._put_back(name, found, self._waiting.pop(name))
            self._objects[name] = found
        return bool(objects) and all(self._restored[name] for name in objects)

    @property
    def is_restored(self) -> bool:
        """Whether all states in the checkpoint were restored."""
        return not self._waiting

    def dumps(self) -> memoryview:
        """Return the current states of all objects. Raises UserCodeError with the name of an object that fails."""
        if self._waiting:
            log.warning(
                "%s has the state of %s, but this run did not pass these names to run.keep",
                self._where,
                ", ".join(sorted(self._waiting)),
            )
            self._waiting = {}
        states = {name: _state_of(found) for name, found in self._objects.items()}
        try:
            return _bytes_of(states)
        except Exception:
            for name, state in states.items():
                try:
                    _bytes_of(state)
                except Exception as error:
                    raise UserCodeError.of(f"run.keep: {name} cannot be written", error) from error
            raise

    def _is_new(self, name: str, found: Any) -> bool:
        if name in self._objects:
            if self._objects[name] is not found:
                raise ValueError(f"run.keep: {name} already names another object; choose another name")
            return False
        if not isinstance(found, _HOLDERS) and not (hasattr(found, "state_dict") and hasattr(found, "load_state_dict")):
            raise TypeError(
                f"run.keep: {name} is {with_article(type(found).__name__)}, which cannot be restored in place; pass a "
                "dict that contains the value, or an object with state_dict() and load_state_dict()"
            )
        return True

    def _put_back(self, name: str, found: Any, state: Any) -> None:
        try:
            if isinstance(found, dict):
                found.clear()
                found.update(state)
            elif isinstance(found, list | deque):
                found.clear()
                found.extend(state)
            else:
                found.load_state_dict(state)
        except Exception as error:
            raise UserCodeError.of(
                f"{self._where} cannot be loaded into {name}; start over in another folder", error
            ) from error


def _state_of(found: Any) -> Any:
    return found if isinstance(found, _HOLDERS) else found.state_dict()


def _bytes_of(state: Any) -> memoryview:
    out = io.BytesIO()
    torch.save(state, out)
    return out.getbuffer()
