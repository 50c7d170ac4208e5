"""Calls that come again and again with other numbers, as one call of compiled code.

A controller calls `client.dynamics(q, v, want=("M", "C"))` at each of its steps. Once such a call
has gone through Python, and its messages are known (repeated.py), the next ones go through
native/calls.c: the same bytes there and back, without making the request anew from its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.client import codec
from torqued.client.operations import COMPUTATIONS
from torqued.client.repeated import END_OF_IDS, ID, Repeated
from torqued.client.request_parts import Request
from torqued.client.results import Result

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from torqued.client._native import Calls


def known_calls(compiled: ModuleType, identities: Iterator[int]) -> Calls:
    """None so far; ids are the client's."""
    calls: Calls = compiled.Calls(identities, codec.FIRST_ID, END_OF_IDS, ID)
    return calls


def learn(
    calls: Calls,
    repeated: Repeated,
    make: Callable[..., Request[Any]],
    args: tuple[Any, ...],
    named: dict[str, Any],
    request: Request[Any],
) -> None:
    """Know a call that has just been answered, if its messages were known ones.

    Its arrays have to be those of the request, not copies: then it is clear what goes where.
    """
    if (
        repeated.used is None
        or request.operation not in COMPUTATIONS
        or request.timeout is not None
    ):
        return
    message, reply = repeated.used
    values = (*args, *named.values())
    offsets: list[tuple[int, tuple[int, ...]] | None] = []
    for value in values:
        if type(value) is not np.ndarray:
            if value is not None and not is_text(value):
                return
            offsets.append(None)
            continue
        of = [name for name, field in request.fields.items() if field is value]
        if len(of) != 1:
            return
        offsets.append((message.starts[of[0]], value.shape))
    if len(message.starts) != len(offsets) - offsets.count(None):
        return
    result = request.result
    calls.learn(
        make=make,
        by_position=len(args),
        names=tuple(named),
        values=tuple(
            None if offset is not None else list(value) if type(value) is list else value
            for value, offset in zip(values, offsets, strict=True)
        ),
        offsets=tuple(offsets),
        request=message.body,
        reply_size=reply.size,
        texts=tuple((start, text) for start, _, text in reply.texts),
        arrays=tuple((name, (start, shape)) for name, start, _, shape in reply.arrays),
        result=result,
        is_plain=isinstance(result, type) and result.__bases__ == (Result,),
    )


def is_text(value: Any) -> bool:
    """A text, or some of them."""
    return type(value) is str or (
        type(value) in (list, tuple) and all(type(item) is str for item in value)
    )
