"""Expressions as Python, C or LaTeX: nested lists of them become functions that fill arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sympy import Matrix, Rational, Symbol, cse, latex, numbered_symbols
from sympy.printing import ccode, pycode

#: Fractions beyond this are decimals in LaTeX.
MAX_DENOMINATOR = 1000

#: Quantity → what its function takes.
ARGUMENTS = {
    "M": ("q",),
    "C": ("q", "v"),
    "Gamma": ("q",),
    "g": ("q",),
    "tau": ("q", "v", "a"),
}


def shape_of(values: Any) -> tuple[int, ...]:
    return (len(values), *shape_of(values[0])) if isinstance(values, list) else ()


def flat(values: Any) -> list[Any]:
    """All entries, row by row."""
    if not isinstance(values, list):
        return [values]
    return [entry for value in values for entry in flat(value)]


def to_python(name: str, quantities: dict[str, Any], n: int) -> str:
    """A module with a function for each quantity, which returns an array."""
    lines = [f'"""Equations of motion of {name!r}, written by `torqued symbolic`."""', ""]
    lines += ["import math", "", "import numpy as np", ""]
    for quantity, values in quantities.items():
        taken = ARGUMENTS[quantity]
        lines += ["", f"def {quantity}({', '.join(taken)}):"]
        for letter in taken:
            lines.append(f"    {', '.join(f'{letter}{k}' for k in range(n))}, = {letter}")
        steps, entries = _steps(values, pycode)
        lines += [f"    {variable} = {text}" for variable, text in steps]
        lines.append(f"    out = np.array([{', '.join(entries)}], dtype=float)")
        lines += [f"    return out.reshape({shape_of(values)})", ""]
    return "\n".join(lines)


def to_c(name: str, quantities: dict[str, Any], n: int) -> str:
    """A file with a function for each quantity, which fills `out` row by row."""
    lines = [f"/* Equations of motion of {name}, written by `torqued symbolic`. */", ""]
    lines += ["#include <math.h>"]
    for quantity, values in quantities.items():
        taken = ARGUMENTS[quantity]
        inputs = ", ".join(f"const double *{letter}" for letter in taken)
        shape = "".join(f"[{size}]" for size in shape_of(values))
        lines += ["", f"/* out{shape} */", f"void {quantity}({inputs}, double *out)", "{"]
        steps, entries = _steps(values, ccode)
        used = {str(s) for entry in flat(values) for s in entry.free_symbols}
        for letter in taken:
            lines += [
                f"    const double {letter}{k} = {letter}[{k}];"
                for k in range(n)
                if f"{letter}{k}" in used
            ]
        lines += [f"    const double {variable} = {text};" for variable, text in steps]
        lines += [f"    out[{k}] = {entry};" for k, entry in enumerate(entries)]
        lines.append("}")
    return "\n".join(lines) + "\n"


def to_latex(name: str, quantities: dict[str, Any], n: int) -> str:
    """An equation for each quantity; Γ as one matrix for each first index."""
    lines = [f"% Equations of motion of {name}, written by `torqued symbolic`."]
    symbols = {"tau": r"\tau", "Gamma": r"\Gamma"}
    for quantity, values in quantities.items():
        symbol = symbols.get(quantity, quantity)
        if len(shape_of(values)) == 3:
            lines += [
                rf"\[ {symbol}_{{{i}jk}} = {_matrix(plane)} \]" for i, plane in enumerate(values)
            ]
        else:
            lines.append(rf"\[ {symbol} = {_matrix(values)} \]")
    return "\n".join(lines) + "\n"


WRITERS: dict[str, Callable[[str, dict[str, Any], int], str]] = {
    "python": to_python,
    "c": to_c,
    "latex": to_latex,
}


def _matrix(values: Any) -> str:
    return str(latex(Matrix(values).applyfunc(_readable)))


def _readable(entry: Any) -> Any:
    """Long fractions as decimals of six digits."""
    long = [x for x in entry.atoms(Rational) if x.q > MAX_DENOMINATOR]
    return entry.xreplace({x: x.evalf(6) for x in long})


def _steps(values: Any, write: Callable[..., str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Common parts first, then the entries."""
    shared, entries = cse(flat(values), symbols=numbered_symbols("x"))
    steps = [(str(variable), write(value.evalf())) for variable, value in shared]
    return steps, [write(_numeric(entry)) for entry in entries]


def _numeric(entry: Any) -> Any:
    """Fractions as decimals; names stay."""
    return entry if isinstance(entry, Symbol) else entry.evalf()
