"""Notifies systemd of the daemon's state (`Type=notify`)."""

from __future__ import annotations

import logging
import os
import socket

log = logging.getLogger("torqued")


def notify(state: str) -> None:
    """Send `READY=1`, `STOPPING=1` or the like to $NOTIFY_SOCKET, if it is set.

    The protocol of sd_notify(3): one datagram; a name that begins with @ is an abstract socket.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
            manager.sendto(state.encode(), address)
    except OSError as error:
        log.warning("sd_notify(%s) failed: %s", state, error.strerror)
