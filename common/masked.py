"""Masked arrays of numpy: a conversion drops the mask, and what was masked counts as measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.common.errors import InputError


def check_unmasked(name: str, value: Any) -> None:
    """Refuse an array with masked numbers."""
    # `numpy.ma` itself takes long to import, and only programs that have such arrays have it.
    mask = getattr(value, "mask", None) if isinstance(value, np.ndarray) else None
    if mask is not None and np.any(mask):
        place = ", ".join(str(int(i)) for i in np.argwhere(mask)[0])
        where = f"[{place}]" if place else ""
        wanted = "numbers, none of them masked"
        raise InputError(f"{name}{where} is masked, expected {wanted}", name, "masked", wanted)
