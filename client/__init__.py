"""The client of a daemon. It needs numpy, pyzmq and msgpack only.

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
from torqued.client.requests.results import Result
from torqued.common.errors import TorquedError

if TYPE_CHECKING:
    from torqued.client.async_client import AsyncClient
    from torqued.client.sessions.arm import Arm
    from torqued.client.sessions.async_session import AsyncSession
    from torqued.client.sessions.session import Session
    from torqued.client.sessions.session_frames import Output
    from torqued.client.sessions.telemetry import Telemetry

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


#: Imported on first use: asyncio alone takes as long as all the rest.
_LATER = {
    "Arm": "sessions.arm",
    "AsyncClient": "async_client",
    "AsyncSession": "sessions.async_session",
    "Output": "sessions.session_frames",
    "Session": "sessions.session",
    "Telemetry": "sessions.telemetry",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
