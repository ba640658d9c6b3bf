"""Every private name of TorchRL and TensorDict that CollectorFleet uses.

Each name has one function or constant here, which says why the name is needed, and one test against the installed
TorchRL. No other module uses a private name of theirs. After an upgrade, a test names what TorchRL has changed.
"""
