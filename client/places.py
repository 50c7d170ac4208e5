"""Where a daemon's sockets are: files in a folder of the user's own, named after the robot.

panda.sock               requests
panda.control.sock       introspection and administration
panda.telemetry.sock     statistics, published ten times a second
panda.session-….sock     one per open session
"""

from __future__ import annotations

import os
from pathlib import Path


def default_folder() -> Path:
    """$TORQUED_FOLDER, else torqued in $XDG_RUNTIME_DIR, else torqued-<user id> in /tmp."""
    configured = os.environ.get("TORQUED_FOLDER")
    if configured:
        return Path(configured).absolute()
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "torqued"
    import tempfile  # takes longer to import than the rest of the client

    return Path(tempfile.gettempdir()) / f"torqued-{os.getuid()}"


def request_endpoint(name: str, folder: Path | None = None) -> str:
    """The request endpoint of the daemon of that name."""
    return f"ipc://{(folder or default_folder()) / name}.sock"


def control_endpoint(request: str) -> str:
    """The control endpoint beside a request endpoint."""
    return request.removesuffix(".sock") + ".control.sock"


def telemetry_endpoint(request: str) -> str:
    """The telemetry endpoint beside a request endpoint."""
    return request.removesuffix(".sock") + ".telemetry.sock"
