"""The operator's decisions: they turn an observation of a fleet into actions and a status. Pure: no I/O, no clock."""
