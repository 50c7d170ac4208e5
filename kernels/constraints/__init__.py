"""Constraints beside contacts: loops along chosen axes, and the user's own rows.

types.py   constraints as users state them, and the results
loops.py   loops as rows of acceleration constraints
"""
