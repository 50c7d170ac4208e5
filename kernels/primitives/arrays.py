"""Arrays for compiled code: declared once, found by name on both sides.

    class FilterSizes(NamedTuple):
        n: int

    class Filter(NamedTuple):
        gain: Floats = array(float, "n", "n")
        state: Floats = array(float, "n")

    FILTER = Layout(Filter, FilterSizes)
    open_filter, filter_sizes = FILTER.open, FILTER.open_sizes     # kernels know these names

    memory = FILTER.allocate(FilterSizes(n=3))
    memory.arrays.gain[:] = np.eye(3)
    COMPILED.run_filter(memory.address)                            # there: open_filter(address)

Compiled code takes one address. There, 8-byte words hold the sizes, then for each array where it
is and its lengths. Which word is whose follows from the declaration, for Python and for compiled
code alike: another array is one more line, and the order of the lines means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from torqued.kernels.compilation.numba_internals import config, make_array, populate_array
from torqued.kernels.primitives.array_view import Field, load_word, view_opener

#: A line of the cache: no two arrays share one, and four numbers side by side never lie on two.
LINE = 64

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Records = Any  # of a declared type, by their fields' names

ArraysT = TypeVar("ArraysT", bound=tuple[Any, ...])
SizesT = TypeVar("SizesT", bound=tuple[int, ...])


@dataclass(frozen=True)
class Declared:
    """One line of a declaration."""

    dtype: np.dtype[Any]
    dims: tuple[int | str | None, ...]  # lengths, or names of sizes, or ANY
    optional: bool = False

    def is_constant(self, dim: int | str | None) -> bool:
        """Whether compiled code may take a length for known."""
        return isinstance(dim, int) and not self.optional

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """What there has to be; a length that can be any is 0 until an array is given."""
        return tuple(sizes[dim] if isinstance(dim, str) else dim or 0 for dim in self.dims)


#: A length of arrays that exist already (`Layout.lead_to`).
ANY = None


def array(dtype: Any, *dims: int | str | None, optional: bool = False) -> Any:
    """Declares an array by the type of its elements and its lengths: numbers, names of sizes, ANY.

    An optional one may be absent: then all of its lengths are 0.
    """
    return Declared(np.dtype(dtype), dims, optional)


def zeros(declaration: type[ArraysT], **sizes: int) -> ArraysT:
    """Arrays of a declaration, for compiled code that takes them as a tuple."""
    lines: Mapping[str, Declared] = declaration._field_defaults  # type: ignore[attr-defined]
    return declaration(*(np.zeros(x.shape(sizes), x.dtype) for x in lines.values()))


class Memory(Generic[ArraysT, SizesT]):
    """Arrays of a declaration, and the address that leads compiled code to them.

    The address is valid as long as this object lives.
    """

    def __init__(self, head: NDArray[np.int64], arrays: ArraysT, sizes: SizesT) -> None:
        self._head = head
        self.arrays, self.sizes = arrays, sizes
        self.address: int = head.ctypes.data
        _MEMORIES[self.address] = self


#: Where plain Python finds what compiled code finds by an address.
_MEMORIES: WeakValueDictionary[int, Memory[Any, Any]] = WeakValueDictionary()


class Layout(Generic[ArraysT, SizesT]):
    """A declaration of arrays: the fields of one named tuple, whose defaults are `array(…)`.

    open          address → the arrays, for kernels
    open_sizes    address → the sizes
    """

    def __init__(
        self,
        arrays: type[ArraysT],
        sizes: type[SizesT],
        element: Callable[[np.dtype[Any]], Any] = from_dtype,
        at_once: bool = False,
        apart: int = 0,
    ) -> None:
        """`element` states what compiled code takes the elements of an array for.

        `at_once`: compiled code has all arrays in a tuple from the beginning, in registers as far
        as there are some. Else it has a view that opens each where it is named: what takes a tenth
        of a microsecond longer to run, and much less to compile where there are many.

        `apart`: bytes behind the arrays that nothing else is in.
        """
        self._arrays, self._sizes, self._element = arrays, sizes, element
        self._at_once, self._apart = at_once, apart
        self.declared: dict[str, Declared] = _declarations(arrays, _fields(sizes))
        #: The word that holds an array's address; those after it hold its lengths.
        self._words: dict[str, int] = {}
        count = len(_fields(sizes))
        for name, declared in self.declared.items():
            self._words[name] = count
            count += 1 + len(declared.dims)
        self._count = count
        self.open: Any = _plain_open if config.DISABLE_JIT else self._compiled_open()
        self.open_sizes: Any = _plain_sizes if config.DISABLE_JIT else self._compiled_sizes()

    def allocate(
        self,
        sizes: SizesT,
        given: Mapping[str, NDArray[Any]] | None = None,
        same: Mapping[str, str] | None = None,
        absent: Collection[str] = (),
    ) -> Memory[ArraysT, SizesT]:
        """Zeroed arrays in one stretch of memory.

        given     arrays that exist already, by name
        same      names of arrays that are another one of these
        absent    optional arrays that are not needed
        """
        given, same = given or {}, same or {}
        unknown = [name for name in (*given, *same, *absent) if name not in self.declared]
        if unknown:
            raise TypeError(f"{self._arrays.__name__} has no array {unknown[0]!r}")
        for name in absent:
            if not self.declared[name].optional:
                raise TypeError(f"{self._arrays.__name__}.{name} is not optional")
        lengths = dict(zip(_fields(self._sizes), sizes, strict=True))
        shapes = {
            name: (0,) * len(declared.dims) if name in absent else declared.shape(lengths)
            for name, declared in self.declared.items()
        }
        found = {name: self._checked(name, value, shapes[name]) for name, value in given.items()}
        own = [name for name in self.declared if name not in found and name not in same]
        found |= self._zeros({name: shapes[name] for name in own})
        for name, other in same.items():
            found[name] = self._checked(name, found[other], shapes[name])
        head = np.zeros(self._count, np.int64)
        head[: len(sizes)] = sizes
        for name, word in self._words.items():
            value = found[name]
            head[word : word + 1 + value.ndim] = (value.ctypes.data, *value.shape)
        return Memory(head, self._arrays(**found), sizes)

    def lead_to(self, sizes: SizesT, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """The words at whose address compiled code finds arrays that exist already; all others are
        empty. The caller promises their types, row by row, and keeps them and the words."""
        head = [*sizes, *(0,) * (self._count - len(sizes))]
        for name, value in arrays.items():
            if value.size:
                word, shape = self._words[name], value.shape
                head[word] = value.__array_interface__["data"][0]
                head[word + 1 : word + 1 + len(shape)] = shape
        return np.array(head, np.int64)

    def _zeros(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[Any]]:
        """Zeroed arrays, one after the other, each at the beginning of a line."""
        starts, end = {}, 0
        for name, shape in shapes.items():
            starts[name] = end
            end += -(-_bytes(self.declared[name].dtype, shape) // LINE) * LINE
        block = np.zeros(end + LINE + self._apart, np.uint8)
        first = -block.ctypes.data % LINE
        views = {}
        for name, shape in shapes.items():
            dtype, start = self.declared[name].dtype, first + starts[name]
            part = block[start : start + _bytes(dtype, shape)]
            views[name] = _by_field(part.view(dtype).reshape(shape))
        return views

    def _checked(self, name: str, value: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        dtype = self.declared[name].dtype
        same_type = value.dtype == dtype  # of a record array numpy's type differs in its class only
        if not same_type or value.shape != shape or not value.flags.c_contiguous:
            raise TypeError(
                f"{self._arrays.__name__}.{name} is {value.dtype} {value.shape}, "
                f"expected {dtype} {shape}, row by row"
            )
        return _by_field(value)

    def _compiled_open(self) -> Any:
        fields = {
            name: self._compiled_array(item, self._words[name])
            for name, item in self.declared.items()
        }
        kinds = [kind for kind, _ in fields.values()]
        if not self._at_once:
            words = f"{self._words} {self.declared} {kinds}"
            return view_opener(self._arrays.__name__, words, fields)
        result = types.BaseTuple.from_types(kinds, self._arrays)

        @intrinsic
        def opened(typing: Any, address: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                head = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
                arrays = [build(context, builder, head) for _, build in fields.values()]
                return context.make_tuple(builder, result, arrays)

            return result(address), generate

        return opened

    def _compiled_array(self, declared: Declared, word: int) -> Field:
        """The type of an array of numba's, and how it is built from its words in the head."""
        kind = types.Array(self._element(declared.dtype), len(declared.dims), "C")

        def build(context: Any, builder: Any, head: Any) -> Any:
            made = make_array(kind)(context, builder)
            data = builder.inttoptr(load_word(builder, head, word), made.data.type)
            shape = [  # lengths that are known stay constants
                ir.IntType(64)(dim)
                if declared.is_constant(dim)
                else load_word(builder, head, word + 1 + k)
                for k, dim in enumerate(declared.dims)
            ]
            strides = [ir.IntType(64)(declared.dtype.itemsize)]
            for length in reversed(shape[1:]):
                strides.insert(0, builder.mul(strides[0], length, flags=["nsw"]))
            populate_array(made, data, shape, strides, declared.dtype.itemsize, meminfo=None)
            return made._getvalue()

        return kind, build

    def _compiled_sizes(self) -> Any:
        names = _fields(self._sizes)
        fields: dict[str, Field] = {
            name: (types.int64, partial(_build_word, k)) for k, name in enumerate(names)
        }
        return view_opener(self._sizes.__name__, " ".join(names), fields)


def _build_word(index: int, context: Any, builder: Any, head: Any) -> Any:
    return load_word(builder, head, index)


def _plain_open(address: int) -> Any:
    return _MEMORIES[address].arrays


def _plain_sizes(address: int) -> Any:
    return _MEMORIES[address].sizes


def _declarations(arrays: Any, sizes: tuple[str, ...]) -> dict[str, Declared]:
    """The lines of a declaration, each of which has to be one."""
    found = {name: arrays._field_defaults.get(name) for name in arrays._fields}
    for name, declared in found.items():
        if not isinstance(declared, Declared):
            raise TypeError(f"{arrays.__name__}.{name} is not declared by array(…)")
        for dim in declared.dims:
            if isinstance(dim, str) and dim not in sizes:
                listed = ", ".join(sizes)
                raise TypeError(f"{arrays.__name__}.{name}: no size {dim!r}, there are {listed}")
    return found


def _fields(named: Any) -> tuple[str, ...]:
    return tuple(named._fields)


def _bytes(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    return dtype.itemsize * int(np.prod(shape, dtype=np.int64))


def _by_field(value: NDArray[Any]) -> NDArray[Any]:
    """Records whose fields are attributes, as they are in kernels."""
    return value.view(np.recarray) if value.dtype.names and type(value) is np.ndarray else value
