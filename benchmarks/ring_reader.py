"""A reader of the ring, as a dashboard would be: it takes what has come, every 10 ms.

python ring_reader.py NAME FOLDER     until killed
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from torqued.server.observation.reader import Reader, stand_back

if __name__ == "__main__":
    stand_back()
    reader = Reader(sys.argv[1], Path(sys.argv[2]))
    print("reads", flush=True)
    while True:
        reader.poll()
        time.sleep(0.01)
