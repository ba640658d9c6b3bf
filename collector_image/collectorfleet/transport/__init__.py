"""How messages travel between the driver and its collectors: one interface, one folder for each way."""
