"""docs/SCREWS.md has the operations of every representation as they are."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from torqued.kernels.dynamics.frames import REPRESENTATIONS

DOCUMENT = Path(__file__).parents[3] / "docs" / "SCREWS.md"
COMMAND = [sys.executable, "-m", "torqued.kernels.screws.operation_counts"]


def test_table_of_the_document_has_the_counts():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=True)
    counts = {
        name: (count["multiplications"], count["additions"])
        for name, count in json.loads(done.stdout).items()
    }
    rows = re.findall(
        r"^\| (?:`(\w+)`|(common) frame) \| (\d+) \| (\d+) \|", DOCUMENT.read_text(), re.M
    )
    written = {name or common: (int(times), int(plus)) for name, common, times, plus in rows}
    assert set(written) == {*REPRESENTATIONS, "common"}
    assert written == counts


def test_counting_needs_plain_functions():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "set NUMBA_DISABLE_JIT=1" in done.stderr
