"""The transport over Ray: actors and the object store.

``actor`` runs in collectors, the other modules in the driver.
"""
