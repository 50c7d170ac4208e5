"""The allow-list: keys that may connect over TCP, and their rights.

It is read again whenever its file has changed, so that a daemon follows `torqued keys` at once. A
missing file allows no clients. An unreadable one leaves the previous list in force, with an error
in the log: a slip of an editor must not take the torque away from a robot.
"""

from __future__ import annotations

import datetime
import logging
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torqued.client.keys import Z85
from torqued.common.errors import TorquedError
from torqued.server.access.rights import RIGHTS

log = logging.getLogger("torqued")

#: Characters of a key's name: it also names a file.
MAX_NAME = 64


class KeysError(TorquedError):
    """Keys that cannot be used."""


@dataclass(frozen=True)
class AllowedClient:
    """One line of the allow-list."""

    name: str
    public: str
    rights: str
    since: datetime.date

    def to_toml(self) -> str:
        return (
            f'\n[{self.name}]\npublic = "{self.public}"\nrights = "{self.rights}"\n'
            f"since = {self.since}\n"
        )


def checked(name: str) -> str:
    """A name that can name a file and is not the daemon's."""
    if not re.fullmatch(rf"[A-Za-z0-9_-]{{1,{MAX_NAME}}}", name) or name == "server":
        shown = repr(name) if len(name) <= MAX_NAME else f"{name[:20]!r} … ({len(name)} long)"
        raise KeysError(
            f"invalid key name {shown}: allowed are 1 to {MAX_NAME} letters, digits, - and _, "
            "but not 'server'"
        )
    return name


class AllowList:
    """Clients by their public keys."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: tuple[Any, dict[bytes, AllowedClient]] = (None, {})

    def read(self) -> dict[bytes, AllowedClient]:
        """The file as it is now; `KeysError` if it is invalid."""
        try:
            info, folder = self.path.stat(), self.path.parent.stat()
            text = self.path.read_text(encoding="utf-8")
            table = tomllib.loads(text)
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise KeysError(f"cannot read allow-list {self.path}: {error}") from None
        if not text:  # as editors leave it for a moment when they save
            raise KeysError(f"allow-list {self.path} is empty, without even a comment")
        for path, found in ((self.path, info), (self.path.parent, folder)):
            if found.st_mode & 0o022 or found.st_uid not in (0, os.getuid()):
                raise KeysError(
                    f"{path} has mode {found.st_mode & 0o777:04o} and owner {found.st_uid}: "
                    "other users could add keys; only this user or root may own and write it"
                )
        clients = {}
        for name, entry in table.items():
            client = self._client(name, entry)
            clients[client.public.encode()] = client
        if len(clients) != len(table):
            raise KeysError(f"allow-list {self.path}: a public key has two names")
        return clients

    def _client(self, name: str, entry: Any) -> AllowedClient:
        if not isinstance(entry, dict) or set(entry) != {"public", "rights", "since"}:
            raise KeysError(f"allow-list {self.path}: {name!r} requires public, rights and since")
        if not isinstance(entry["public"], str) or not Z85.fullmatch(entry["public"]):
            raise KeysError(f"allow-list {self.path}: {name!r} has no public key of 40 characters")
        if entry["rights"] not in RIGHTS:
            raise KeysError(
                f"allow-list {self.path}: {name!r} has rights {entry['rights']!r}, "
                f"allowed: {', '.join(RIGHTS)}"
            )
        if type(entry["since"]) is not datetime.date:
            raise KeysError(f"allow-list {self.path}: {name!r} has no date in 'since'")
        return AllowedClient(checked(name), **entry)

    def clients(self) -> dict[bytes, AllowedClient]:
        """The current clients; the same map as long as the file does not change."""
        try:
            info = self.path.stat()
            seen: Any = (info.st_ino, info.st_mtime_ns, info.st_ctime_ns, info.st_size)
        except OSError:
            seen = "missing"
        before, clients = self._known
        if seen != before:
            try:
                clients = self.read()
            except KeysError as error:
                log.error("keeping the previous allow-list: %s", error)
            self._known = (seen, clients)
        return clients
