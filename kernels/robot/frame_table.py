"""A robot's frames by name: records for kernels, points on them, and forces that act there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.kernels.contacts.types import Wrench
from torqued.kernels.input_checks import known_name, numbers, shown
from torqued.kernels.model.description import Array
from torqued.kernels.model.model import Model
from torqued.kernels.primitives import layout

#: By frame name: [moment; force] (6,) at the frame's origin in world axes, a `Wrench` at any point
#: of the frame, or a list of those.
Wrenches = Mapping[str, Any]


class Place(NamedTuple):
    """A frame: the body that carries it (-1: the world), its rotation and position there."""

    body: int
    R: Array
    p: Array

    @property
    def fields(self) -> tuple[int, Array, Array]:
        """Those of `FRAME`."""
        return self.body, self.R.ravel(), self.p


WORLD = Place(-1, np.eye(3), np.zeros(3))


class FrameTable:
    """Links, then joints whose name no link has."""

    def __init__(self, model: Model) -> None:
        self._frames = model.frames
        self._index = {frame.name: k for k, frame in enumerate(model.frames)}
        self.names = tuple(self._index)
        self._records = np.zeros(len(model.frames), layout.FRAME).view(np.recarray)
        for record, frame in zip(self._records, model.frames, strict=True):
            record.body, record.R, record.p = frame.body, frame.rotation.ravel(), frame.position
        self._none = self._records[[]]
        self.checked: dict[Any, tuple[Any, ...]] = {}  # of contacts: see contact_inputs.py
        self._single: dict[str, NDArray[np.void]] = {}  # records of one frame, as asked for

    def records(
        self, names: Sequence[str], point: Any = None, field: str = "frame"
    ) -> NDArray[np.void]:
        """Of frames by name, moved by `point` (3,) in their own axes; errors name `field`."""
        if not names:
            return self._none
        single = names[0] if point is None and len(names) == 1 else None
        if isinstance(single, str) and single in self._single:
            return self._single[single]
        for name in names:
            known_name(field, "frame", name, self._index)
        records = self._records[[self._index[name] for name in names]]
        if point is not None:
            shift = numbers("point", point, (3,))
            for record in records:
                record.p = record.p + record.R.reshape(3, 3) @ shift
        elif len(names) == 1:
            records.flags.writeable = False
            self._single[names[0]] = records
        return records

    def place(self, field: str, name: Any, point: Any = None) -> Place:
        """A frame, moved to a point (3,) on it; errors name `field`."""
        own = self._frames[self._index[known_name(field, "frame", name, self._index)]]
        if point is None:
            return Place(own.body, own.rotation, own.position)
        shift = numbers(f"{field} {name!r}: point", point, (3,))
        return Place(own.body, own.rotation, own.position + own.rotation @ shift)

    def is_fixed(self, name: str) -> bool:
        """Whether a frame stands still in the world."""
        return self._frames[self._index[name]].body < 0

    def wrenches(self, f_ext: Any) -> tuple[NDArray[np.void], Array]:
        """Frames and their wrenches [moment; force], checked."""
        if not isinstance(f_ext, Mapping):
            message = f"f_ext: {shown(f_ext)}, expected a map from frames to wrenches"
            raise InputError(message, "f_ext", None, "a map from frames to wrenches")
        frames, wrenches = [], []
        for frame, value in f_ext.items():
            name = f"f_ext[{frame!r}]"
            for item in value if _is_several(value) else [value]:
                if isinstance(item, Wrench):
                    moment = numbers(f"{name}.moment", item.moment, (3,))
                    force = numbers(f"{name}.force", item.force, (3,))
                    frames.append(self.records([frame], item.point, "f_ext")[0])
                    wrenches.append(np.concatenate([moment, force]))
                else:
                    frames.append(self.records([frame], None, "f_ext")[0])
                    wrenches.append(numbers(name, item, (6,)))
        return np.array(frames, layout.FRAME).view(np.recarray), np.array(wrenches).reshape(-1, 6)


def _is_several(value: Any) -> bool:
    """Whether a value is a list of wrenches, and not the numbers of one."""
    return isinstance(value, list | tuple) and any(
        isinstance(item, Wrench | np.ndarray | list | tuple) for item in value
    )
