"""What this process and those that tests start find around them: imported before numpy.

Threads of BLAS spin while they wait for each other, on cores that pytest's processes and the
daemons of tests have use for: beside busy processes small matrices took 14 times as much processor
time with two threads as with one.

Byte code is kept, as it is where torqued is installed: compiled anew it is half of a daemon's
start, and tests start hundreds of processes.
"""

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
