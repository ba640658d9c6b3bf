"""A run in a driver pod: the API server, the Lease and the Ray cluster around it.

The process has three threads of its own. ``drive`` is the main thread. ``ray_node`` waits for a process (``join_ray``)
that makes the pod a node of the Ray cluster. ``reporter`` talks to the API server, with all that it is made of.
"""
