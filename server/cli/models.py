"""`torqued models`: the robots that can be named on the command line."""

from __future__ import annotations

import argparse

HELP = "list the robots that torqued knows by name"
EXAMPLE = "  torqued models\n  torqued demo --robot icub"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from torqued.kernels.model import catalog

    table = Table("name", "what it is", box=None, pad_edge=False)
    for name, description in catalog.FAMILIES.items():
        table.add_row(f"{name}N", f"{description} ({name}20)")
    urdfs = catalog.urdf_files()
    for name, path in urdfs.items():
        table.add_row(name, f"{path.parent.parent.name}/{path.parent.name}/{path.name}")
    console = Console()
    console.print(table)
    if not urdfs:
        console.print("\nReal robots come with: pip install example-robot-data")
    return 0
