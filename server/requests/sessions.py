"""The operations on sessions, which the loop carries out; the loop checks their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torqued.server.access.rights import Caller, right_to_open
from torqued.server.requests.operation import operation

if TYPE_CHECKING:
    from torqued.server.loop.servo import Servo

Fields = Mapping[str, Any]


@operation(right=right_to_open)
def open(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.open(fields, caller)


def tune(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.tune(fields, caller)


def payload(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
    return servo.payload(fields, caller)


def close(servo: Servo, fields: Fields, caller: Caller) -> dict[str, Any]:
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
