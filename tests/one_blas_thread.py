"""Imported before numpy, by tests/conftest.py.

Threads of BLAS spin while they wait for each other, on cores that pytest's processes and the
daemons of tests have use for: beside busy processes small matrices took 14 times as much processor
time with two threads as with one.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
