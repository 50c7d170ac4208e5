"""XML from strangers: opened safely, and read without stopping at the first fault.

`parse_root` refuses what could hang or leak (document types, entities). A `Node` reads typed
attributes; what it cannot read it writes down in `Findings` and replaces by a stand-in, so that
one pass over a file finds all of its faults. Stand-ins never leave, since a file with faults is
refused, and none is a fault itself: whatever else `checks.py` finds is the file's.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers.expat import ErrorString

import defusedxml.ElementTree
from defusedxml.common import DefusedXmlException

from torqued.common.errors import ModelError
from torqued.kernels.model.diagnostics import Findings

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

#: Plain decimal numbers. Python's float() would also take 1_000, nan and digits of other scripts.
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
INFINITE = re.compile(r"[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)

#: Of a file.
MAX_BYTES = 10_000_000


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a UTF-8 file; a `ModelError` that names the file when there is none."""
    source = os.fspath(path)
    try:
        # A pipe or device could block or never end.
        if Path(source).exists() and not Path(source).is_file():
            raise ModelError(source, ["is a directory or device, not a file"])
        if (size := os.path.getsize(source)) > MAX_BYTES:
            raise ModelError(source, [f"has {size} bytes, at most {MAX_BYTES} are read"])
        return Path(source).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ModelError(source, ["no such file"]) from None
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 text: byte {error.object[error.start]:#04x} at {error.start}"
        raise ModelError(source, [problem]) from error
    except (OSError, ValueError) as error:
        raise ModelError(source, [f"cannot be read: {error}"]) from error


def parse_root(text: str, source: str) -> Element:
    """The root element, its default namespace removed; a `ModelError` where there is none."""
    if not text.strip():
        raise ModelError(source, ["is empty"])
    try:
        text.encode()
        root: Element = defusedxml.ElementTree.fromstring(text, forbid_dtd=True)
    except UnicodeEncodeError as error:
        problem = f"is not valid Unicode: lone surrogate at character {error.start}"
        raise ModelError(source, [problem]) from error
    except DefusedXmlException as error:
        problem = "has a document type or entity definition, which is unsafe; remove it"
        raise ModelError(source, [problem]) from error
    except defusedxml.ElementTree.ParseError as error:
        line, column = error.position
        problem = f"malformed XML at line {line}, column {column}: {ErrorString(error.code)}"
        if "xacro:" in text:
            problem += f"; {_xacro('tags', source)}"
        raise ModelError(source, [problem]) from error
    _refuse_xacro(root, source)
    namespace = root.tag[: root.tag.find("}") + 1]
    if namespace:
        for element in root.iter():
            element.tag = element.tag.removeprefix(namespace)
    return root


def _refuse_xacro(root: Element, source: str) -> None:
    # An expanded file may still declare the namespace; only its use shows what needs expanding.
    for element in root.iter():
        namespace, _, tag = element.tag.rpartition("}")
        if namespace.endswith("/xacro"):
            raise ModelError(source, [_xacro(f"the tag <xacro:{tag}>", source)])
        for value in element.attrib.values():
            if "${" in value:
                found = f"the expression {quoted(value)} in <{tag}>"
                raise ModelError(source, [_xacro(found, source)])


def _xacro(found: str, source: str) -> str:
    return f"xacro file, with {found}: expand it with `xacro {source} > out.urdf`"


def quoted(value: str) -> str:
    """In quotes and short enough for a message."""
    return repr(value if len(value) <= 60 else value[:57] + "...")


@dataclass(frozen=True)
class Node:
    """An element, with the phrase that names it in messages (`joint 'elbow'`)."""

    element: Element
    where: str
    findings: Findings

    def fault(self, sentence: str) -> None:
        self.findings.fault(self.where, sentence)

    def warn(self, sentence: str) -> None:
        self.findings.warn(self.where, sentence)

    def children(self, tag: str) -> Iterator[Node]:
        """Each named for its tag and name attribute, or its place among its like."""
        for number, element in enumerate(self.element.findall(tag), start=1):
            name = element.get("name")
            where = f"{tag} {quoted(name)}" if name else f"{tag} number {number}"
            yield Node(element, where, self.findings)

    def child(self, tag: str) -> Node | None:
        """The first child with this tag, named in messages for the element it belongs to."""
        found = self.element.findall(tag)
        if len(found) > 1:
            self.warn(f"has {len(found)} <{tag}> tags; only the first is used")
        return Node(found[0], f"{self.where}: <{tag}>", self.findings) if found else None

    def has(self, attribute: str) -> bool:
        return attribute in self.element.attrib

    def text(self, attribute: str) -> str:
        """A text that must be there."""
        value = self.element.get(attribute, "")
        if not value.strip():
            self.fault(f"{attribute} is missing")
        return value

    def number(
        self,
        attribute: str,
        default: float | None = None,
        infinite: bool = False,
        stand_in: float = 0.0,
    ) -> float:
        """A finite number (`infinite`: or an infinite one); it must be there without a default."""
        value = self.element.get(attribute)
        if value is not None:
            number = self._number(attribute, value, infinite)
            return stand_in if number is None else number
        if default is None:
            self.fault(f"{attribute} is missing")
            return 0.0
        return default

    def numbers(self, attribute: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """As many finite numbers as the default has."""
        value = self.element.get(attribute)
        if value is None:
            return default
        words = value.split()
        if len(words) != len(default):
            counts = f"{len(words)} numbers instead of {len(default)}"
            self.fault(f"{attribute} has {counts}: {quoted(value)}")
            return default
        numbers = [self._number(attribute, word) for word in words]
        known = tuple(number for number in numbers if number is not None)
        return known if len(known) == len(default) else default

    def needed_text(self, tag: str, attribute: str) -> str:
        """A text from a child that must be there."""
        child = self._needed_child(tag, attribute)
        return child.text(attribute) if child else ""

    def needed_number(self, tag: str, attribute: str) -> float:
        """A number from a child that must be there."""
        child = self._needed_child(tag, attribute)
        return child.number(attribute) if child else 0.0

    def _needed_child(self, tag: str, attribute: str) -> Node | None:
        child = self.child(tag)
        if child is None:
            self.fault(f'<{tag} {attribute}="…"> is missing')
        return child

    def _number(self, attribute: str, word: str, infinite: bool = False) -> float | None:
        """None if there is no number; the fault is recorded."""
        word = word.strip()
        if NUMBER.fullmatch(word):
            value = float(word)
            if math.isfinite(value):
                return value
            self.fault(f"{attribute} is {quoted(word)}, too large for a number")
        elif infinite and INFINITE.fullmatch(word):
            return float(word)
        else:
            self.fault(f"{attribute} is {quoted(word)}, not a finite number")
        return None
