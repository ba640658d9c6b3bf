"""The command line, with one file per command. Only the commands that need torch or Ray import these packages."""
