"""The key directory: the daemon's key, those made here for clients, and the allow-list.

server.key      the daemon's key pair, mode 0600; made when it is first needed
server.pub      its public half, for clients whose keys were made elsewhere
NAME.key        a client's key pair and the daemon's public key: all that the client needs
allowed.toml    the allowed clients: name, public key, rights, date
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zmq

from torqued.client.keys import read_key_file
from torqued.common.errors import TorquedError
from torqued.server.access.allow_list import AllowedClient, AllowList, KeysError, checked

HEAD = (
    "# Clients that may connect over TCP. Written by `torqued keys`; running daemons follow it.\n"
)


def default_keys() -> Path:
    """$TORQUED_KEYS, else torqued/keys in $XDG_CONFIG_HOME, else ~/.config/torqued/keys."""
    configured = os.environ.get("TORQUED_KEYS")
    if configured:
        return Path(configured).absolute()
    home = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    # By the XDG specification a relative path is ignored.
    return (home if home.is_absolute() else Path.home() / ".config") / "torqued/keys"


@dataclass(frozen=True, repr=False)
class KeyPair:
    """Two halves, 40 characters each."""

    public: str
    secret: str

    @classmethod
    def new(cls) -> KeyPair:
        return cls.of(zmq.curve_keypair()[1].decode())

    @classmethod
    def of(cls, secret: str) -> KeyPair:
        return cls(zmq.curve_public(secret.encode()).decode(), secret)


class KeyFolder:
    """Keys on disk. Every change of the allow-list is one rename: no reader sees half of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.allowed = AllowList(folder / "allowed.toml")

    def server(self, renew: bool = False) -> KeyPair:
        """The daemon's key pair, created if necessary."""
        path = self.folder / "server.key"
        if renew or not path.exists():
            with self._changing():
                if renew or not path.exists():  # no other process was faster
                    pair = KeyPair.new()
                    text = key_text("the daemon's key pair: keep it secret", pair)
                    self._write("server.key", text)
                    self._write("server.pub", f'public = "{pair.public}"\n')
        try:
            return KeyPair.of(read_key_file(path, "secret")["secret"])
        except TorquedError as error:
            raise KeysError(str(error)) from None

    def new(self, name: str, rights: str | None, renew: bool = False) -> AllowedClient:
        """Make a key pair for a client and put it on the allow-list.

        `renew` replaces a client's key, and keeps its rights unless others are given.
        """
        checked(name)
        server = self.server().public
        with self._changing():
            clients = self._by_name()
            if name in clients and not renew:
                raise KeysError(f"{name!r} has a key already; --renew replaces it")
            if renew and name not in clients:
                raise KeysError(f"{name!r} has no key to renew")
            pair = KeyPair.new()
            rights = rights or (clients[name].rights if renew else "read")
            client = AllowedClient(name, pair.public, rights, datetime.date.today())
            self._write(f"{name}.key", key_text(f"key of {name!r}: keep it secret", pair, server))
            self._save(clients | {name: client})
        return client

    def new_for(self, server: str, name: str) -> KeyPair:
        """Make a key pair for a daemon elsewhere, by its public key; its secret never travels."""
        path = self.folder / f"{checked(name)}.key"
        with self._changing():
            if path.exists():
                raise KeysError(f"{path} exists already; remove it to make another")
            pair = KeyPair.new()
            self._write(path.name, key_text(f"key of {name!r}: keep it secret", pair, server))
        return pair

    def allow(self, name: str, public: str | None, rights: str) -> AllowedClient:
        """Allow a public key that was made elsewhere, or change the rights of a known name."""
        checked(name)
        with self._changing():
            clients = self._by_name()
            if public is None and name not in clients:
                raise KeysError(f"{name!r} is not on the allow-list: its public key is required")
            public = public or clients[name].public
            for other in clients.values():
                if other.public == public and other.name != name:
                    raise KeysError(f"this public key is allowed already, as {other.name!r}")
            client = AllowedClient(name, public, rights, datetime.date.today())
            self._save(clients | {name: client})
        return client

    def revoke(self, name: str) -> None:
        """Remove a client from the allow-list, and its key file if it was made here."""
        with self._changing():
            clients = self._by_name()
            if name not in clients:
                known = ", ".join(sorted(clients)) or "none"
                raise KeysError(f"{name!r} is not on the allow-list (allowed: {known})")
            del clients[name]
            self._save(clients)
            (self.folder / f"{name}.key").unlink(missing_ok=True)

    def _by_name(self) -> dict[str, AllowedClient]:
        return {client.name: client for client in self.allowed.read().values()}

    def _save(self, clients: dict[str, AllowedClient]) -> None:
        entries = (clients[name].to_toml() for name in sorted(clients))
        self._write("allowed.toml", HEAD + "".join(entries))

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """One change at a time, across processes."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise KeysError(f"key directory {self.folder}: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, name: str, text: str) -> None:
        """Replace a file atomically, mode 0600, synced to the disk."""
        path = self.folder / name
        draft = path.with_name(f".{name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            draft.unlink(missing_ok=True)
            with os.fdopen(os.open(draft, flags, 0o600), "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError as error:
            raise KeysError(f"cannot write key file {path}: {error.strerror}") from None


def key_text(what: str, pair: KeyPair, server: str | None = None) -> str:
    """The content of a key file."""
    keys = {"public": pair.public, "secret": pair.secret} | ({"server": server} if server else {})
    return f"# torqued: {what}\n" + "".join(f'{name} = "{key}"\n' for name, key in keys.items())
