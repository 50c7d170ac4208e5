"""The demo with a page beside it, as a user runs it: served, drawn, ended, and nothing is left."""

import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import pytest

from support.browser import PROGRAM, chromium, open_page, position, require_picture
from support.eventually import eventually
from support.viewing import running_in

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "torqued.tools.cli.main", "demo", "--dash", "127.0.0.1:0"]
#: A link that moves, as the page names it.
HAND = "/robot/panda_link7"
#: s
LONGEST = 300.0


@pytest.fixture
def started(tmp_path):
    """Starts a demo; gives its process, the page's address and the folder that it works in."""
    with tempfile.TemporaryDirectory(prefix="tqd") as folder:  # short enough for sockets
        processes = []

        def start(seconds):
            process = subprocess.Popen(
                [*COMMAND, "--seconds", str(seconds), "--plot", str(tmp_path)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | {"TMPDIR": folder, "PYTHONUNBUFFERED": "1"},
            )
            processes.append(process)
            for line in process.stdout:
                if line.startswith("page: "):
                    return process, line.split()[1].rstrip(","), Path(folder)
            raise AssertionError(process.communicate()[1])

        yield start
        for process in processes:
            process.kill()
            process.communicate()


def require_nothing_left(folder):
    assert not running_in(folder)
    assert not list(folder.glob("torqued-demo-*"))


def test_demo_with_a_page_ends_by_itself(started, tmp_path):
    process, address, folder = started(2)
    with urllib.request.urlopen(address, timeout=60.0) as reply:
        assert b"<title>" in reply.read()
    said, errors = process.communicate(timeout=LONGEST)
    assert said.count("holds") + said.count("FAILED") == 4, errors
    assert process.returncode in (0, 1)  # how well it tracked is a matter of the machine here
    require_nothing_left(folder)
    with pytest.raises(OSError):
        urllib.request.urlopen(address, timeout=60.0)


@pytest.mark.skipif(not PROGRAM, reason="chromium is not installed")
def test_page_of_the_demo_shows_a_robot_that_moves_until_it_is_interrupted(started):
    process, address, folder = started(3600)
    with chromium() as browser:
        page = open_page(browser, address)
        page.wait_for_selector(".torqued-status")
        eventually(lambda: position(page, HAND), patience=240.0)
        first = position(page, HAND)
        eventually(lambda: position(page, HAND) != first, patience=240.0)
        require_picture(page)
        assert "passivity" in page.inner_text("body")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=LONGEST)
    assert (process.returncode, errors) == (130, "")
    require_nothing_left(folder)
