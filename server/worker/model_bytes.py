"""A loaded robot as bytes, between the daemon and its worker.

The file may have changed since, and both must compute with the same robot.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from torqued.client import codec
from torqued.kernels.model.description import LockedJoint
from torqued.kernels.model.model import Dofs, Frame, JointInfo, Mimics, Model
from torqued.kernels.primitives.layout import BODY, WORLD


def pack(model: Model) -> bytes:
    """A model as bytes."""
    records = {"world": model.world.tobytes(), "bodies": model.bodies.tobytes()}
    return codec.encode(asdict(model) | records)


def unpack(data: bytes) -> Model:
    """The model in some bytes that `pack` made."""
    fields = codec.decode(data)
    return Model(
        name=fields["name"],
        source=fields["source"],
        base=fields["base"],
        world=np.frombuffer(fields["world"], WORLD).copy().view(np.recarray),
        bodies=np.frombuffer(fields["bodies"], BODY).copy().view(np.recarray),
        joints=tuple(JointInfo(**joint) for joint in fields["joints"]),
        order_by_name=tuple(fields["order_by_name"]),
        frames=tuple(Frame(**_own_arrays(frame)) for frame in fields["frames"]),
        dofs=Dofs(**_own_arrays(fields["dofs"])),
        mimics=Mimics(**_own_arrays(fields["mimics"])),
        warnings=tuple(fields["warnings"]),
        friction_measured=fields["friction_measured"],
        locked=tuple(LockedJoint(**joint) for joint in fields["locked"]),
    )


def _own_arrays(fields: dict[str, Any]) -> dict[str, Any]:
    """Arrays that do not share the message's memory."""
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in fields.items()}
