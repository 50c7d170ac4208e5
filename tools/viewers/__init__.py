"""Where labs look: readers of a daemon's ring and of its counters, each a process of its own."""
