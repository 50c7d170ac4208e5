"""A reader of the ring, as viewers are: it takes what has come, every 20 ms.

python ring_reader.py NAME FOLDER     until killed
"""

from __future__ import annotations

import sys
from pathlib import Path

from torqued.server.observation.reader import Reader
from torqued.server.viewers.following import Following

if __name__ == "__main__":
    following = Following(Reader(sys.argv[1], Path(sys.argv[2])))
    print("reads", flush=True)
    for _ in following.batches():
        pass
