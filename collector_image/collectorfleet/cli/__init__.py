"""The command line: one file for each command. Torch and Ray are imported by the commands that need them."""
