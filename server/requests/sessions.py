"""The operations on sessions, which the loop carries out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torqued.server.access.rights import Caller

if TYPE_CHECKING:
    from torqued.server.loop.servo import Servo

Fields = Mapping[str, Any]


def open_session(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.open(fields, caller)


def tune_session(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.tune(fields, caller)


def change_payload(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.payload(fields, caller)


def close_session(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.close(fields, caller)


def take(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.orders.take(fields, caller)


def give(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.orders.give(fields, caller)


def hold(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.orders.hold(fields, caller)


def resume(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.orders.resume(fields, caller)


def command(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.orders.command(fields, caller)


def move(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.orders.move(fields, caller)


def look(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.orders.look(fields, caller)
