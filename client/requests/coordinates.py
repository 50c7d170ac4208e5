"""Clients in other coordinates: `client.in_coordinates("pinocchio").dynamics(q, v)`."""

from __future__ import annotations

from typing import Any

from torqued.client.requests.computations import Computations
from torqued.client.requests.methods import Awaited, Performing, Waiting
from torqued.client.requests.operation_table import ROWS
from torqued.client.requests.request_parts import Request
from torqued.common.errors import error


class InOtherCoordinates(Computations, Performing):
    """A view of a client: q, v, a, τ and results of its methods are in `coordinates`."""

    def __init__(self, client: Performing, coordinates: str) -> None:
        self.client, self.coordinates = client, coordinates

    def perform(self, request: Request[Any]) -> Any:
        """Ask as the client does, in these coordinates."""
        operation = request.fields.get("operation", request.operation)
        if operation in ROWS and "coordinates" not in ROWS[operation].optional:
            message = f"{operation}: takes native coordinates only"
            raise error("unknown_field", message, field="coordinates")
        fields = {**request.fields, "coordinates": self.coordinates}
        return self.client.perform(request._replace(fields=fields))


class ClientInCoordinates(InOtherCoordinates, Waiting):
    """Its methods wait for the reply."""


class AsyncClientInCoordinates(InOtherCoordinates, Awaited):
    """Its methods are awaited."""
