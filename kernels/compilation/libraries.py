"""What is made of a function that is compiled into others: its code for them, and nothing else.

Numba optimizes every function to the end and makes machine code of it, also where only its callers
will ever run, which do all of that again with its code in theirs. Here such a function is
simplified by itself. What comes after that is done once for each entry, with all that it calls.
"""

from __future__ import annotations

from typing import Any

from torqued.kernels.compilation.numba_internals import (
    Compiler,
    CompileResult,
    JITCodeLibrary,
    parse_bitcode,
)

#: Numba's word in a stored library for what follows.
_KIND = "inlined"


class InlinedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function and of those that it calls, on its way into an entry."""

    def _optimize_final_module(self) -> None:
        """Left to the entry."""

    def _finalize_final_module(self) -> None:
        """There is no machine code to be made ready."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """Numba sets a function's environment through it, in machine code: see EntryCompiler."""
        return _NoMachineCode

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        return (self.name, _KIND, self._get_module_for_linking().as_bitcode())


class _NoMachineCode:
    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Nothing that runs has this one."""


class KernelCompiler(Compiler):  # type: ignore[misc]
    """Compiles functions for others."""

    def compile_extra(self, function: Any) -> Any:
        codegen = self.state.targetctx.codegen()
        self.state.library = InlinedLibrary(codegen, function.__qualname__)
        return super().compile_extra(function)


class EntryCompiler(Compiler):  # type: ignore[misc]
    """Compiles entries."""

    def compile_extra(self, function: Any) -> Any:
        result = super().compile_extra(function)
        # Also of the functions that were compiled into it, which have no machine code.
        for environment in result._find_referenced_environments():
            result.library.codegen.set_env(environment.env_name, environment)
        return result


def is_inlined(payload: tuple[Any, ...]) -> bool:
    """Whether a stored result of compilation is that of a function for others."""
    return bool(payload[0][1] == _KIND)


def rebuild(target_context: Any, payload: tuple[Any, ...]) -> Any:
    """Such a result, as `CompileResult._rebuild` does it for those with machine code."""
    stored, description, environment, signature, _, lifted, annotation, starters, others = payload
    for start in starters:
        start()
    name, _, bitcode = stored
    library = InlinedLibrary(target_context.codegen(), name)
    library._final_module = parse_bitcode(bitcode)
    library._finalize_final_module()
    return CompileResult(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=library,
        environment=environment,
        entry_point=target_context.get_executable(library, description, environment),
        fndesc=description,
        type_annotation=annotation,
        signature=signature,
        objectmode=False,
        lifted=lifted,
        typing_error=None,
        call_helper=None,
        metadata=None,
        reload_init=starters,
        referenced_envs=others,
    )
