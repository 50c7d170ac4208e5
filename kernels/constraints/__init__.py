"""Constraints beside contacts: loops along chosen axes, and rows of the user's own.

types.py   what users say about them, and what they get back
loops.py   loops as rows of acceleration constraints
"""
