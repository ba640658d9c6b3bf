"""What a person sees of a run: plain lines, or a live table on a terminal. Made from the driver's report alone.

Each draws on a thread of its own, in the driver's process.
"""
