"""Run a fleet in a driver pod, with the API server, the driver's Lease and the Ray cluster.

The driver has three threads. The main thread runs ``drive``. The thread of ``ray_node`` waits for a process
(``join_ray``) that makes the pod a node of the Ray cluster. The thread of ``reporter`` sends all requests to the API
server.
"""
