"""Recordings: every tick read from the ring, written to a file, replayed, identified from."""
