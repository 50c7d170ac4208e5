"""Seeing what the loop does: the ring that it writes, and the processes that read it."""
