"""The program that takes the documents' screenshots."""

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[3] / "docs" / "figures" / "screens.py"


def test_it_starts():
    """Its scenes take minutes; what it imports is what changes under it."""
    command = [sys.executable, str(PROGRAM), "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "SCENE" in done.stdout, done.stderr
