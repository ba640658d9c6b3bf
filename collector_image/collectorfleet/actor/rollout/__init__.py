"""A stepping loop of our own, used where its frames are those of TorchRL's collector, entry by entry.

TorchRL's loop makes several TensorDicts in each step; here environment and policy are called, and their results are
written where the batch has them. What is not understood is left to TorchRL's loop: :class:`NotExact` says what and why.
"""
