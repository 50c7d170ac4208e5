"""Which processor kernels are compiled for: this one, or a kind that $TORQUED_TARGET_CPU names.

Machine code for the very processor at hand is the fastest, and of no use on another. An image that
is built here and started there needs code for what both have in common.
"""

from __future__ import annotations

import os

from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
from numba.core import config

from torqued.common.errors import InputError

VARIABLE = "TORQUED_TARGET_CPU"

_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

#: Kinds of processors, as LLVM names them, and what one of that kind has.
KINDS: dict[str, tuple[str, ...]] = {
    "generic": (),  # any of this architecture
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,  # Intel since 2013 (Haswell), AMD since 2015 (Excavator)
    "x86-64-v4": _V4,
}


def choose_processor() -> str:
    """Have numba compile for the kind of processor that is asked for, and name it.

    To be called before anything is compiled. Code for instructions that this processor does not
    have would kill the process without a word: it is refused.
    """
    kind = os.environ.get(VARIABLE) or "native"
    if kind == "native":
        return str(config.CPU_NAME or get_host_cpu_name())
    if kind not in KINDS:
        allowed = f"native, {', '.join(KINDS)}"
        raise InputError(f"{VARIABLE}: {kind!r} is unknown, allowed: {allowed}", VARIABLE, kind)
    present = get_host_cpu_features()
    missing = [feature for feature in KINDS[kind] if not present.get(feature, False)]
    if missing:
        raise InputError(
            f"{VARIABLE}: this processor ({get_host_cpu_name()}) is not {kind}, "
            f"it lacks {', '.join(missing)}",
            VARIABLE,
            kind,
        )
    # In the environment, since numba reads it again whenever it has changed.
    os.environ |= {"NUMBA_CPU_NAME": kind, "NUMBA_CPU_FEATURES": ""}
    config.reload_config()
    return kind
