"""Fields of requests that are more than numbers and texts: wrenches and contacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torqued.common.errors import InputError
from torqued.kernels import Contact
from torqued.kernels.input_checks import Fields
from torqued.server.requests.limits import at_most

#: Members of a contact, on the wire as in `Contact`.
CONTACT_MEMBERS = tuple(Contact.__dataclass_fields__)


def wrenches(fields: Fields) -> Mapping[str, Any] | None:
    """The field f_ext: a map from frame names to wrenches."""
    value = fields.get("f_ext")
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        kind = "other keys than texts" if isinstance(value, dict) else type(value).__name__
        expected = "a map from frames to wrenches"
        raise InputError(f"f_ext: {kind}, expected {expected}", "f_ext", None, expected)
    at_most("f_ext", len(value))
    return value


def contacts(fields: Fields) -> list[Contact]:
    """The field contacts: a list of maps with the members of `Contact`."""
    value = fields["contacts"]
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError("contacts: expected a list of maps", "contacts", None, "a list of maps")
    at_most("contacts", len(value))
    return [_contact(f"contacts[{k}]", item) for k, item in enumerate(value)]


def _contact(name: str, item: dict[Any, Any]) -> Contact:
    for key in item:
        if key not in CONTACT_MEMBERS:
            listed = ", ".join(CONTACT_MEMBERS)
            raise InputError(
                f"{name}: {key!r} is unknown, allowed: {listed}",
                "contacts",
                key,
                f"one of {listed}",
            )
    if "frame" not in item:
        raise InputError(f"{name}: 'frame' is missing", "contacts", None, "a frame")
    for key in ("frame", "kind", "other"):
        if not isinstance(item.get(key, ""), str) and not (key == "other" and item[key] is None):
            raise InputError(
                f"{name}.{key} is {type(item[key]).__name__}, expected a text",
                "contacts",
                None,
                "a text",
            )
    return Contact(**item)
