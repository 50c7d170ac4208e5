"""Configurations that bring frames to where they should be.

targets.py   what users ask for, and what they get back
tasks.py     targets as errors and Jacobian rows
solver.py    damped Gauss-Newton steps with priorities, within joint limits
"""
