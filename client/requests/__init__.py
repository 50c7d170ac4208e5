"""Requests: one function per operation, and what its reply becomes."""
