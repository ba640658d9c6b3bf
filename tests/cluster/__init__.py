"""A real Kubernetes on one machine, for the tests and for trying the project out.

``ControlPlane`` is the API server and what makes its objects live (garbage collection, Jobs, KubeRay), as plain
processes on loopback: no root, seconds to start, but no pod ever runs.
"""
