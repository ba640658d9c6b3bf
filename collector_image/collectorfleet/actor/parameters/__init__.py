"""Parameters of environments that change while a collector runs."""
