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
from typing import Any, NoReturn

import defusedxml.minidom
import xacro
from defusedxml.common import DefusedXmlException
from xacro import XacroException, substitution_args
from xacro.substitution_args import SubstitutionException

from torqued.kernels.formats.sandbox import roots

#: Attributes that lead from values of expressions to the interpreter; others start with _.
CLOSED = {"format", "format_map", "mro", "gi_frame", "cr_frame", "ag_frame", "tb_frame"}

# They load what they take, while they may.
defusedxml.minidom.parseString("<a/>".encode("utf-8-sig"))
ast.parse("é")


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The expanded text with notes, or what is wrong."""
    folder, arguments = request["folder"], request["arguments"]
    path = os.path.join(folder or "", request["name"])
    if folder:  # where it really is, if it is a link
        roots.append(str(Path(path).resolve().parent))
    declared: dict[str, None] = {}
    notes: list[str] = []

    def parse(text: str | None, path: str = "") -> Any:
        try:
            text = Path(path).read_text("utf-8-sig") if text is None else text
        except FileNotFoundError as error:
            xacro.filestack.pop()  # as xacro does, for `optional`
            raise XacroException(exc=error) from None
        document = defusedxml.minidom.parseString(text, forbid_dtd=True)
        for element in document.getElementsByTagName("xacro:arg"):
            declared[element.getAttribute("name")] = None
        return document

    xacro.parse, xacro.warning = parse, lambda *words: notes.append(" ".join(map(str, words)))
    xacro.safe_eval = _checked(xacro.safe_eval)
    for name in ("type", "vars"):
        del xacro._global_symbols["python"][name]
    substitution_args.eval = _checked(lambda s, _, names: eval(s, {"__builtins__": {}}, names))
    find = _finder(folder, request["paths"])
    for name, function in {"find": find, "env": _environment, "optenv": _environment}.items():
        setattr(substitution_args, f"_eval_{name}", function)
        substitution_args._eval_dict[name] = function
    xacro.init_stacks(path)
    try:
        document = parse(request["text"])
        xacro.process_doc(document, mappings=dict(arguments), verbosity=0)
    except DefusedXmlException:
        problem = "has a document type or entity definition, which is unsafe; remove it"
    except Exception as raised:  # whatever its expressions raise
        error: Any = raised
        while str(error).startswith("<class") and getattr(error, "exc", None):
            error = error.exc  # said once is enough
        problem = "; ".join(map(str.strip, str(error).splitlines()))
        if not problem or problem.startswith(";"):  # an exception without a text
            problem = f"{type(getattr(error, 'exc', None) or error).__name__}{problem}"
    else:
        unknown = ", ".join(sorted(arguments.keys() - declared.keys()))
        if not unknown:
            return {"text": document.toxml(), "notes": notes[:50]}
        problem = f"is given the substitution argument {unknown}"
    if "substitution argument" in problem:
        problem += f"; it declares the arguments {', '.join(declared) or '(none)'}"
    where = [f"file {file}" for file in xacro.filestack[1:][-1:]]
    where += [f"macro {macro.body.getAttribute('name')!r}" for macro in xacro.macrostack[-1:]]
    return {"problems": [f"{problem[:500]} ({', '.join(where)})" if where else problem[:500]]}


def _checked(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """Refuses names and attributes that are not for expressions of a robot."""

    def evaluated(expression: str, *symbols: Any) -> Any:
        for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
            name = getattr(node, "attr", "")
            if name in CLOSED or name.startswith("_") or getattr(node, "id", "").startswith("__"):
                raise XacroException(f"uses {name or '__'}, which is not allowed in expressions")
        return evaluate(expression, *symbols)

    return evaluated


def _environment(name: str, default: str = "") -> NoReturn:
    problem = f"environment variables, as {name}, are not read; use an argument instead"
    raise SubstitutionException(problem)


def _finder(folder: str | None, paths: dict[str, list[str]]) -> Callable[[str], str]:
    """A function that finds a package: a folder whose package.xml has its name."""
    above = [Path(folder), *Path(folder).parents] if folder else []
    ros, ament = ([Path(path) for path in given if path] for given in paths.values())
    beside = [*above, *ros, *(path / "share" for path in ament)]

    def find(name: str) -> str:
        about = re.compile(rf"<name>\s*{re.escape(name)}\s*</name>")
        for place in [*above, *(up / name for up in beside), *ros]:
            file = place / "package.xml"
            if not file.is_file():
                continue
            roots.append(str(file.resolve()))
            if about.search(file.read_text("utf-8", "replace")):
                # Where packages are installed as links, files lie with the linked package.xml.
                roots.extend([str(place.resolve()), str(file.resolve().parent)])
                return str(place)
            roots.pop()
        sought = f"above {folder or 'a text'} and in {' and '.join(paths)}"
        raise SubstitutionException(f"package {name!r} (its package.xml) was not found {sought}")

    return find
