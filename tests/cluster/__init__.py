"""Run a real Kubernetes on one machine, for the tests and for trying the project out.

``ControlPlane`` runs the API server and controllers (garbage collection, Jobs, KubeRay) as plain processes on loopback.
It needs no root and starts in seconds, but runs no pods. ``Cluster`` also has nodes that run pods, and needs root.
"""
