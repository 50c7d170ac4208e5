"""What this process and those that tests start find around them: imported before numpy.

Threads of BLAS spin while they wait for each other, on cores that pytest's processes and the
daemons of tests have use for: beside busy processes small matrices took 14 times as much processor
time with two threads as with one.

Byte code is kept, as it is where torqued is installed: compiled anew it is half of a daemon's
start, and tests start hundreds of processes.

Signals that end a program do so: a shell that starts something in the background, and `nohup`, have
some of them ignored, and all processes below inherit that.
"""

import os
import signal
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
