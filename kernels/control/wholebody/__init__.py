"""Whole-body control of robots in contact: quadratic program and passivity-based balancing."""
