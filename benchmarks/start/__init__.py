"""How long a fleet takes to exist and to deliver its first batch, beside the same made by hand."""
