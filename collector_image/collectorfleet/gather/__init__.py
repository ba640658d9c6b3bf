"""Gathering batches from a fleet: what is decided (``state``) apart from what is done (``loop``)."""
