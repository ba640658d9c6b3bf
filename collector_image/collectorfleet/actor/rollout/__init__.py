"""Fast loops that step environments. A loop is used only if all its frames equal the frames of TorchRL's collector.

TorchRL's loop makes several TensorDicts in each step. The fast loops call environment and policy directly, and write
the results into the batch. If no fast loop supports the environment, the policy or an option, TorchRL's loop makes the
rollouts. In this case :class:`FastLoopUnsupported` names the unsupported part and the reason.

The *carrier* of TorchRL's collector is the TensorDict with which the next step begins. Each loop reads the carrier
before its first step, and writes the carrier after its last step.
"""
