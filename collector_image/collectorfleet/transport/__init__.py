"""Transports carry messages between the driver and its collectors. Each subpackage implements one interface."""
