"""One run of one fleet, whatever surrounds it: session, training handle, checkpoints, output. In the driver."""
