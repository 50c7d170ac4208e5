"""The parts of numba that are not its public interface and that torqued relies on: all of them.

They may change with any version, which is why pyproject.toml bounds numba. `require_numba`
(self_test.py) finds out whether they still do what they did.
"""

import llvmlite
import numba

from torqued.common.errors import TorquedError


class ToolchainError(TorquedError):
    """An installed package does not do what torqued relies on."""


VERSIONS = f"numba {numba.__version__} with llvmlite {llvmlite.__version__}"

try:
    from llvmlite.binding import parse_bitcode
    from numba.core import cgutils, config
    from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, CompileResult
    from numba.core.serialize import dumps
    from numba.np.arrayobj import make_array, populate_array
except ImportError as error:
    raise ToolchainError(f"{VERSIONS} is not supported: {error}") from error

__all__ = [
    "VERSIONS",
    "CompileResult",
    "CompileResultCacheImpl",
    "Compiler",
    "FunctionCache",
    "JITCodeLibrary",
    "ToolchainError",
    "_CacheLocator",
    "cgutils",
    "config",
    "dumps",
    "make_array",
    "parse_bitcode",
    "populate_array",
]
