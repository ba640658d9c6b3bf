"""One run of one fleet, whatever surrounds it: session, training handle, checkpoints, output, metrics.

In the driver's process, on its main thread, which is the user's: training happens in it. What another thread may call
says so.
"""
