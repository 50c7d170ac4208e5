"""The client's compiled part, `torqued.client._native` (native/): sessions in shared memory.

It is built with the package if there is a C compiler. Nothing else needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torqued.common.errors import TorquedError

if TYPE_CHECKING:
    from torqued.client._native import Page

#: Version of the compiled part that these modules need; native/page.c has the same number.
VERSION = 4


def page_type() -> type[Page]:
    """The type of pages of shared memory; if it was not built, the error says how to."""
    try:
        from torqued.client._native import VERSION as built_version
        from torqued.client._native import Page
    except ImportError:
        reason = "was not built"
    else:
        if built_version == VERSION:
            return Page
        reason = "was built from other sources"
    raise TorquedError(
        f"transport 'memory' needs the client's compiled part, which {reason}: install a C "
        "compiler and Python's headers (gcc, python3-dev) and rebuild with pip install "
        "--force-reinstall --no-binary torqued torqued (in a checkout: pip install .), or use "
        "transport 'socket'"
    )
