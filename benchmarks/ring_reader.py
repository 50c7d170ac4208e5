"""A reader of the ring, as viewers are: it takes what has come, every 20 ms.

python ring_reader.py NAME FOLDER     until killed
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from torqued.server.observation.reader import Reader
from torqued.server.observation.standing import stand_back

if __name__ == "__main__":
    stand_back()
    reader = Reader(sys.argv[1], Path(sys.argv[2]))
    print("reads", flush=True)
    while True:
        reader.poll()
        time.sleep(0.02)
