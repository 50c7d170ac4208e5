"""Local sockets for a group: a real daemon, and other users who try to connect."""

import grp
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.daemons import DaemonProcess

pytestmark = pytest.mark.slow

#: Connects to a socket file; with nothing but the standard library, so that any user can run it.
CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
NOBODY = 65534


def test_members_connect_to_every_socket_of_the_daemon(another, folder):
    group = grp.getgrgid(os.getgid()).gr_name
    folder.chmod(0o750)
    daemon = another("--robot", "chain2", "--group", group).start()
    with daemon.client() as client, client.session("stream"):
        sockets = set(daemon.folder.glob("*.sock"))
        assert len(sockets) == 5  # requests, control, telemetry, pages and a session
        for path in sockets:
            assert stat.S_IMODE(path.stat().st_mode) == 0o660
            assert path.stat().st_gid == os.getgid()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as other users")
def test_another_user_needs_the_group():
    top = Path(tempfile.mkdtemp())
    try:
        top.chmod(0o711)
        interpreter = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
        someone = {"user": NOBODY, "extra_groups": [], "capture_output": True}
        if subprocess.run([interpreter, "-c", ""], group=NOBODY, **someone).returncode:
            pytest.skip("no interpreter that every user may run")
        group = next(entry for entry in grp.getgrall() if entry.gr_gid not in (0, NOBODY))
        daemon = DaemonProcess(top / "s", "arm", "--robot", "chain2", "--group", group.gr_name)
        daemon.log = top / "log"
        daemon.start()
        try:
            command = [interpreter, "-c", CONNECT, daemon.endpoint.removeprefix("ipc://")]
            member = subprocess.run(command, group=group.gr_gid, **someone)
            stranger = subprocess.run(command, group=NOBODY, **someone)
        finally:
            assert daemon.stop() == 0
        assert member.returncode == 0, member.stderr
        assert b"PermissionError" in stranger.stderr
    finally:
        shutil.rmtree(top)
