"""Show runs to people: progress lines, a live table, the output of commands, reports and comparisons.

The lines and the table read the driver's report alone. Each draws on a thread of its own, in the driver's process.
"""
