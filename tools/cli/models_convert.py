"""`torqued models convert`: a robot's file in another format."""

from __future__ import annotations

import argparse
import sys

from torqued.common.errors import InputError
from torqued.kernels.formats.writers import write
from torqued.kernels.model.checks import check
from torqued.kernels.model.compound import taken_apart
from torqued.kernels.model.lock import sentence
from torqued.tools.cli.models_source import source_of


def convert(args: argparse.Namespace) -> int:
    source = source_of(args)
    description = source.description
    check(taken_apart(description), accept_unphysical=True, known=source.faults)
    text, notes = write(description, args.to)
    for note in (*source.guessed, *notes):
        print(f"torqued: note: {note}", file=sys.stderr)
    held = f"; fixed: {sentence(description.locked)}" if description.locked else ""
    if args.out is None:
        print(text, end="")
        print(f"wrote {args.to}{held}", file=sys.stderr)
        return 0
    try:
        args.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write --out {args.out}: {error.strerror}") from None
    print(f"wrote {args.out}{held}")
    return 0
