"""What a controller process installs: numpy, pyzmq and msgpack, and nothing of the daemon.

from torqued.client import Client

with Client("panda") as client:
    r = client.dynamics(q, v, want=("M", "C", "g"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torqued.client.arm import Arm
from torqued.client.client import Client
from torqued.client.errors import (
    AccessError,
    FieldError,
    InternalError,
    MessageError,
    ModelError,
    NumericalError,
    OperationError,
    RequestError,
    TimeoutError,
    VersionError,
)
from torqued.client.results import Result
from torqued.client.session import Output, Session
from torqued.client.telemetry import Telemetry
from torqued.common.errors import TorquedError

if TYPE_CHECKING:
    from torqued.client.async_client import AsyncClient
    from torqued.client.async_session import AsyncSession

__all__ = [
    "AccessError",
    "Arm",
    "AsyncClient",
    "AsyncSession",
    "Client",
    "FieldError",
    "InternalError",
    "MessageError",
    "ModelError",
    "NumericalError",
    "OperationError",
    "Output",
    "RequestError",
    "Result",
    "Session",
    "Telemetry",
    "TimeoutError",
    "TorquedError",
    "VersionError",
]


def __getattr__(name: str) -> Any:
    """What runs in asyncio when it is asked for: that takes as long to import as all the rest."""
    if name in ("AsyncClient", "AsyncSession"):
        from torqued.client import async_client as aio

        return getattr(aio, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
