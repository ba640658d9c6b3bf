"""How a run went: its numbers, the life of each collector, what was lost; bounded however long it takes."""
