"""Environment parameters that the user changes while a collector runs."""
