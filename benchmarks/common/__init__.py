"""What the measuring programs share: a process with a Ray of its own, waits that end, tables, the machine."""
