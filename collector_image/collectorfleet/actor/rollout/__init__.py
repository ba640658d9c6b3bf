"""Fast loops that step environments, used if their frames equal the frames of TorchRL's collector in each entry.

TorchRL's loop makes several TensorDicts in each step. These loops call environment and policy directly, and write the
results into the batch. TorchRL's loop steps everything that these loops do not support.
:class:`FastLoopUnsupported` names the unsupported part and the reason.
"""
