"""Every private name of TorchRL and TensorDict that CollectorFleet uses.

Each name has one function or constant in this package, with the reason for its use, and one test against the installed
TorchRL. No other module uses private names of these libraries. After an upgrade, the failing tests show which names
have changed.
"""
