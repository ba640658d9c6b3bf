"""Execute one run of one fleet, in a pod or on a laptop: session, training handle, checkpoints, output, metrics.

The code runs on the main thread of the driver's process, which also runs the user's training function. If other threads
may call a function, the function's docstring says so.
"""
