"""What a controller process installs: numpy, pyzmq and msgpack, and nothing of the daemon.

from torqued.client import Client

with Client("panda") as client:
    r = client.dynamics(q, v, want=("M", "C", "g"))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from torqued.common.errors import TorquedError

if TYPE_CHECKING:
    from torqued.client.arm import Arm
    from torqued.client.async_client import AsyncClient
    from torqued.client.async_session import AsyncSession
    from torqued.client.session import Session
    from torqued.client.session_frames import Output
    from torqued.client.telemetry import Telemetry

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


#: What is imported when it is asked for: asyncio alone takes as long as all the rest.
_LATER = {
    "Arm": "arm",
    "AsyncClient": "async_client",
    "AsyncSession": "async_session",
    "Output": "session_frames",
    "Session": "session",
    "Telemetry": "telemetry",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
