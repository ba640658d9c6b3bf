"""Every private name of TorchRL and TensorDict that CollectorFleet uses.

For each name, this package has one function or constant, with the reason for its use. Each name also has one test
against the installed TorchRL. No other module uses private names of these libraries. After an upgrade, the failing
tests show which names have changed.
"""
