"""Problems of environment and policy that a collector detects when it is built. The driver logs warnings about them."""

from __future__ import annotations

from typing import Any

from tensordict.nn import TensorDictModuleBase
from torch import nn


def findings(collector: Any) -> tuple[str, ...]:
    """Return one sentence for each problem. If the environments run in separate processes, return no sentences."""
    env, policy = getattr(collector, "env", None), getattr(collector, "policy", None)
    if env is None or not isinstance(policy, nn.Module):
        return ()
    carried = {*env.observation_spec.keys(True, True), *env.state_spec.keys(True, True)}
    lost = [key for key in _recurrent(policy) if key not in carried]
    if not lost:
        return ()
    names = ", ".join(key if isinstance(key, str) else ".".join(key) for key in lost)
    finding = (
        f"the environment does not pass on the recurrent state {names}, which is zero at each step; append "
        "a TensorDictPrimer to the environment, such as module.make_tensordict_primer()"
    )
    return (finding,)


def _recurrent(policy: nn.Module) -> list[Any]:
    """Return the keys that modules of the policy write in one step and read in the next step."""
    found: dict[Any, None] = {}
    written_now: set[Any] = set()
    for module in policy.modules():
        if isinstance(module, TensorDictModuleBase):
            # A module that the user wrote may lack these attributes.
            reads, writes = getattr(module, "in_keys", ()), getattr(module, "out_keys", ())
            written = {key[1:] for key in writes if isinstance(key, tuple) and key[0] == "next"}
            written_now |= {key for key in writes if not (isinstance(key, tuple) and key[0] == "next")}
            found |= {key: None for key in reads if (key if isinstance(key, tuple) else (key,)) in written}
    return [key for key in found if key not in written_now]
