"""A process of a demo: runs a module, and ends with the demo, even if that is killed.

Started by daemon.py; arguments are how much to yield to others, the demo's folder, the module and
the module's own arguments. Standard input is a pipe from the demo: it closes with it.
"""

from __future__ import annotations

import os
import runpy
import shutil
import signal
import sys
import threading
import time

#: s that the module has after SIGTERM.
MAX_END = 10.0


def main(arguments: list[str]) -> None:
    niceness, folder, module, *own = arguments
    os.nice(int(niceness))
    threading.Thread(target=watch, args=(folder,), name="lifeline", daemon=True).start()
    sys.argv = [module, *own]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def watch(folder: str) -> None:
    """End with the demo: SIGTERM, then SIGKILL."""
    while os.read(0, 1):
        pass
    shutil.rmtree(folder, ignore_errors=True)  # the demo cannot do it any more
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(MAX_END)
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
