"""Viewers: readers of a daemon's ring and counters, each a separate process."""
