"""Memory shared with a daemon: pages of sessions, states and results of batches."""
