"""The driver: builds the policy, gathers batches, trains or writes them out, and reports.

``session`` is the run itself and the same in a pod and on a laptop; ``pod`` surrounds it with a Ray cluster and the
API server, ``collectorfleet.embedded`` with a local Ray and a terminal.
"""
