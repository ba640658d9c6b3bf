"""Collectors in processes of their own: what a process group and RPC have in common, which carry nothing here."""
