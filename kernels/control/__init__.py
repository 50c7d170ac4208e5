"""Control laws, in this process: no sockets, no loop.

    from torqued.kernels.control import Controller, WholeBody

`Controller` runs any law by name; `WholeBody` and `Balance` are the controllers of robots that
stand on contacts, for programs that build on them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torqued.kernels.control.controller import Controller
    from torqued.kernels.control.wholebody.balance import Balance
    from torqued.kernels.control.wholebody.whole_body import WholeBody

__all__ = ["Balance", "Controller", "WholeBody"]

# Loaded when asked for: laws, which `Controller` imports, are modules of this package too.
_HOMES = {
    "Balance": "torqued.kernels.control.wholebody.balance",
    "Controller": "torqued.kernels.control.controller",
    "WholeBody": "torqued.kernels.control.wholebody.whole_body",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
