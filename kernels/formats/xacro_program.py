"""Expands a xacro file, in the process of `sandbox.py`.

xacro evaluates Python expressions and reads files. What lets an expression out of the names that
xacro gives it is closed here; whatever else it tries, `sandbox.py` refuses.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

import defusedxml.minidom
import xacro
from defusedxml.common import DefusedXmlException
from xacro import XacroException, substitution_args

from torqued.kernels.formats.sandbox import is_readable, roots

MAX_INCLUDES = 50  # inside each other
#: Attributes that lead from values of expressions to the interpreter; others start with _.
CLOSED = {"format", "format_map", "mro", "gi_frame", "cr_frame", "ag_frame", "tb_frame"}

# They load what they take, while they may.
defusedxml.minidom.parseString("<a/>".encode("utf-8-sig"))
ast.parse("é")


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The expanded text with notes, or what is wrong."""
    texts: dict[str, str] = {}
    declared: dict[str, None] = {}
    notes: list[str] = []

    def parse(given: str | None, path: str = "") -> Any:
        text = _read(path) if given is None else given
        texts[path] = text
        document = defusedxml.minidom.parseString(text, forbid_dtd=True)
        arguments = document.getElementsByTagName("xacro:arg")
        declared.update(dict.fromkeys(element.getAttribute("name") for element in arguments))
        return document

    def optional_environment(name: str, default: str = "") -> str:
        notes.append(f"$(optenv {name}): environment variables are not read, {default!r} holds")
        return default

    given = request["arguments"]
    path = os.path.join(request["folder"] or "", request["name"])
    if request["folder"]:  # where it really is, if it is a link
        roots.append(str(Path(path).resolve().parent))
    find = _finder(request["folder"], request["paths"])
    xacro.parse, xacro.warning = parse, lambda *words: notes.append(" ".join(map(str, words)))
    xacro.safe_eval = _checked(xacro.safe_eval)
    for name in ("type", "vars"):
        del xacro._global_symbols["python"][name]
    substitution_args.eval = _checked(lambda s, _, names: eval(s, {"__builtins__": {}}, names))
    substitution_args._eval_dict.update(find=find, env=_environment, optenv=optional_environment)
    substitution_args._eval_find, substitution_args._eval_env = find, _environment
    substitution_args._eval_optenv = optional_environment
    xacro.init_stacks(path)
    try:
        document = parse(request["text"], path)
        xacro.process_doc(document, mappings=dict(given), verbosity=0)
    except DefusedXmlException:
        problem = "has a document type or entity definition, which is unsafe; remove it"
        return {"error": problem + _place(path, "", texts)}
    except Exception as raised:  # whatever its expressions raise
        error: Any = raised
        while str(error).startswith("<class") and getattr(error, "exc", None):
            error = error.exc  # said once is enough
        problem = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
        if isinstance(error, ExpatError):
            problem = f"malformed XML: {problem}"
        if "maximum recursion depth" in problem:
            problem = "its tags or macros nest too deeply"
        if "substitution argument" in problem or "xacro.arg(" in problem:
            problem += f"; {_listed(declared)}"
        return {"error": (problem or type(error).__name__)[:500] + _place(path, problem, texts)}
    if unknown := ", ".join(name for name in given if name not in declared):
        return {"error": f"is given the argument {unknown}; {_listed(declared)}"}
    return {"text": document.toxml(), "notes": notes[:50]}


def _listed(declared: dict[str, None]) -> str:
    return f"it declares the arguments {', '.join(declared)}" if declared else "it declares none"


def _place(main: str, problem: str, texts: dict[str, str]) -> str:
    """The file with its line, where it can be found, and the macro."""
    where, path = [], xacro.filestack[-1]
    if path != main:
        where.append(f"file {path}")
    expression = re.search(r"when evaluating expression '(.*)'", problem)
    before, found, _ = texts.get(path, "").partition(expression[1] if expression else "\0")
    if found:
        where.append(f"line {before.count(chr(10)) + 1}")
    where += [f"macro {macro.body.getAttribute('name')!r}" for macro in xacro.macrostack[-1:]]
    return f" ({', '.join(where)})" if where else ""


def _read(path: str) -> str:
    """The text of an included file."""
    if len(xacro.filestack) > MAX_INCLUDES:
        raise XacroException(f"more than {MAX_INCLUDES} files include each other")
    if not is_readable(path):
        allowed = "files of its folder and of packages" if roots else "nothing, for a text alone"
        raise XacroException(f"includes {path!r}, allowed: {allowed}")
    try:
        return Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        xacro.filestack.pop()  # as xacro does, for `optional`
        raise XacroException(f"includes {path!r}: {error}", exc=OSError()) from None


def _checked(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """Refuses names and attributes that are not for expressions of a robot."""

    def evaluated(expression: str, *symbols: Any) -> Any:
        for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
            name = getattr(node, "attr", "")
            if name in CLOSED or name.startswith("_") or getattr(node, "id", "").startswith("__"):
                raise XacroException(f"uses {name or '__'}, which is not allowed in expressions")
        try:
            return evaluate(expression, *symbols)
        except MemoryError:
            raise XacroException("out of memory") from None

    return evaluated


def _environment(name: str) -> str:
    problem = f"$(env {name}): environment variables are not read; use an argument instead"
    raise substitution_args.SubstitutionException(problem)


def _finder(folder: str | None, paths: dict[str, list[str]]) -> Callable[[str], str]:
    """A function that finds a package: a folder whose package.xml has its name."""

    def find(name: str) -> str:
        above = [Path(folder), *Path(folder).parents] if folder else []
        ros, ament = ([Path(path) for path in given if path] for given in paths.values())
        shares = [path / "share" for path in ament]
        for place in [*above, *(up / name for up in (*above, *ros, *shares)), *ros]:
            about = place / "package.xml"
            if about.is_file() and re.search(
                rf"<name>\s*{re.escape(name)}\s*</name>", about.read_text("utf-8", "replace")
            ):
                # Where packages are installed as links, files lie with the linked package.xml.
                roots.extend([str(place.resolve()), str(about.resolve().parent)])
                return str(place)
        sought = f"above {folder} and in {' and '.join(paths)}" if folder else " and ".join(paths)
        problem = f"package {name!r} (its package.xml) was not found {sought}"
        raise substitution_args.SubstitutionException(problem)

    return find
