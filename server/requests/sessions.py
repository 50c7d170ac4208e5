"""The operations on sessions, which the loop carries out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torqued.server.access.rights import Caller

if TYPE_CHECKING:
    from torqued.server.loop.servo import Servo


def open_session(servo: Servo, fields: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    return servo.open(fields, caller)


def tune_session(servo: Servo, fields: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    return servo.tune(fields, caller)


def change_payload(servo: Servo, fields: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    return servo.payload(fields, caller)


def close_session(servo: Servo, fields: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    return servo.close(fields, caller)
