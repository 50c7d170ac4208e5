"""`torqued keys`: the clients that may connect over TCP."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torqued.server.access.keys import KeyFolder

HELP = "make, list and revoke the keys of clients over TCP"
EXAMPLE = """\
  torqued keys new controller --rights command
  torqued ping --endpoint tcp://robot:5550 --key controller.key
  torqued keys revoke controller"""

RIGHTS_HELP = "read: computations and streams; command: also torques; administrate: everything"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    folder = argparse.ArgumentParser(add_help=False)
    folder.add_argument(
        "--keys",
        metavar="FOLDER",
        type=Path,
        help="key directory (default: $TORQUED_KEYS, or torqued/keys in $XDG_CONFIG_HOME)",
    )

    def action(name: str, about: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=about, description=about, parents=[folder])

    rights = ("read", "command", "administrate")
    new = action("new", "make a client's key and allow it")
    new.add_argument("name")
    new.add_argument("--rights", choices=rights, help=f"{RIGHTS_HELP} (default: read)")
    new.add_argument("--renew", action="store_true", help="replace the existing key")
    new.add_argument(
        "--server-key",
        metavar="KEY",
        help="public key of a daemon on another machine, where `keys allow` then admits this key",
    )
    allow = action("allow", "allow a public key made elsewhere, or change a client's rights")
    allow.add_argument("name")
    allow.add_argument(
        "--public", metavar="KEY", help="public key of the client, or a file with it"
    )
    allow.add_argument("--rights", choices=rights, required=True, help=RIGHTS_HELP)
    action("list", "list the clients and their rights")
    action("revoke", "remove a client from the allow-list").add_argument("name")
    server = action("server", "print the daemon's public key, creating it if necessary")
    server.add_argument("--renew", action="store_true", help="make a new key; clients then need it")


def run(args: argparse.Namespace) -> int:
    from torqued.server.access.keys import KeyFolder, default_keys

    ACTIONS[args.action](KeyFolder(args.keys or default_keys()), args)
    return 0


def new(keys: KeyFolder, args: argparse.Namespace) -> None:
    if args.server_key:
        make_for_elsewhere(keys, args)
        return
    client = keys.new(args.name, args.rights, args.renew)
    print(f"{client.name} may {client.rights}; key file: {keys.folder / client.name}.key")
    print("Copy the file to the client's machine over a secure channel; it holds the secret half.")


def make_for_elsewhere(keys: KeyFolder, args: argparse.Namespace) -> None:
    from torqued.client.keys import read_key

    server = read_key(args.server_key, "public")["public"]
    public = keys.new_for(server, args.name).public
    rights = args.rights or "read"
    print(f"key file: {keys.folder / args.name}.key; on the daemon's machine run:")
    print(f"  torqued keys allow {args.name} --rights {rights} --public '{public}'")


def allow(keys: KeyFolder, args: argparse.Namespace) -> None:
    from torqued.client.keys import read_key

    public = read_key(args.public, "public")["public"] if args.public else None
    client = keys.allow(args.name, public, args.rights)
    print(f"{client.name} may {client.rights}; the daemon's public key: {keys.server().public}")


def show(keys: KeyFolder, args: argparse.Namespace) -> None:
    clients = sorted(keys.allowed.read().values(), key=lambda client: client.name)
    if not clients:
        print(f"the allow-list {keys.allowed.path} is empty")
    width = max([len(client.name) for client in clients], default=0)
    for client in clients:
        print(f"{client.name:<{width}}  {client.rights:<12}  {client.since}  {client.public}")


def revoke(keys: KeyFolder, args: argparse.Namespace) -> None:
    keys.revoke(args.name)
    print(f"{args.name} was removed from the allow-list; running daemons apply this at once")


def server(keys: KeyFolder, args: argparse.Namespace) -> None:
    print(keys.server(args.renew).public)


ACTIONS = {"new": new, "allow": allow, "list": show, "revoke": revoke, "server": server}
