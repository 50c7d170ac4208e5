"""Arrays behind an address, each of which compiled code opens where it names it.

A tuple of seventy arrays is five hundred numbers: each kernel that takes one has them as arguments,
and its caller passes them one by one, which is what compiling then takes its time for. A
view is the address alone. `view.out` loads where that array is and how long; loads that come twice
are one in machine code, since these words never change while there is a view of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model

#: What an attribute is for compiled code, and how it is made of the words at the address.
Field = tuple[Any, Callable[[Any, Any, Any], Any]]

_HEAD = ir.IntType(64).as_pointer()

#: By the name of a view's type: what it has. Types are stored with compiled code, these are not.
_FIELDS: dict[str, Mapping[str, Field]] = {}


class ViewType(types.Type):  # type: ignore[misc]
    """The type of such a view for numba."""


@register_model(ViewType)
class _ViewModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _HEAD)


@infer_getattr
class _ViewAttributes(AttributeTemplate):  # type: ignore[misc]
    key = ViewType

    def generic_resolve(self, view: Any, name: str) -> Any:
        found = _FIELDS[view.name].get(name)
        return found[0] if found else None


@lower_getattr_generic(ViewType)
def _open_field(context: Any, builder: Any, view: Any, head: Any, name: str) -> Any:
    _, build = _FIELDS[view.name][name]
    return build(context, builder, head)


def view_opener(name: str, words: str, fields: Mapping[str, Field]) -> Any:
    """A function for kernels: from an address to a view with these fields.

    `words` states all that machine code knows of the words there. It is part of the type's name,
    and so of what compiled code is filed under: a kernel that takes a view need not import the
    module that declares it.
    """
    kind = ViewType(f"{name}[{hashlib.sha256(words.encode()).hexdigest()[:16]}]")
    _FIELDS[kind.name] = fields

    @intrinsic
    def opened(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], _HEAD)

        return kind(address), generate

    return opened


def load_word(builder: Any, head: Any, index: int) -> Any:
    """One of the words at the address, which nothing changes while compiled code may look."""
    word = builder.load(builder.gep(head, [ir.IntType(64)(index)]), align=8)
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word
