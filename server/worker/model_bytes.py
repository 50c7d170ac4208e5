"""A loaded robot as bytes, between the daemon and its worker.

The file may have changed since, and both must compute with the same robot.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from torqued.client import codec
from torqued.kernels.formats.sources import read_whole
from torqued.kernels.formats.toml_writer import to_toml
from torqued.kernels.model.description import LockedJoint
from torqued.kernels.model.model import Capsule, Dofs, Frame, JointInfo, Mimics, Model
from torqued.kernels.primitives.layout import BODY, WORLD


def pack(model: Model) -> bytes:
    """A model as bytes."""
    records = {"world": model.world.tobytes(), "bodies": model.bodies.tobytes()}
    return codec.encode(asdict(model) | records | {"description": to_toml(model.description)})


def unpack(data: bytes) -> Model:
    """The model in some bytes that `pack` made."""
    fields = codec.decode(data)
    description = read_whole(fields["description"], "robot.toml")
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
        description=replace(description, source=fields["source"]),
        as_described=fields["as_described"],
        friction_measured=fields["friction_measured"],
        locked=tuple(LockedJoint(**joint) for joint in fields["locked"]),
        capsules=tuple(Capsule(**_own_arrays(capsule)) for capsule in fields["capsules"]),
    )


def _own_arrays(fields: dict[str, Any]) -> dict[str, Any]:
    """Arrays that do not share the message's memory."""
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in fields.items()}
