"""Installations with some of the extras, played by hiding everything that they would not bring.

What an extra brings is found out from pyproject.toml and from the metadata of what is installed
here, its dependencies' own included.
"""

import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
#: What the files of a distribution do not tell: it lies in a prefix of its own.
IMPORTED_AS = {"pin": {"pinocchio", "eigenpy", "coal", "hppfcl"}, "eigenpy": {"eigenpy"}}

#: In place of Python's own search on sys.path: all but some names are not there. As
#: sitecustomize it is also in the processes that a command starts.
HIDING = """
import os, sys
from importlib.machinery import PathFinder

ALLOWED = {*os.environ["TORQUED_TEST_ALLOWED"].split(), *sys.stdlib_module_names}


class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if path is None and name not in ALLOWED and not name.startswith("_sysconfigdata"):
            return None
        return super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
"""


def key(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def needs(line, extras):
    """The requirement, where it holds with one of these extras."""
    requirement = Requirement(line)
    marker = requirement.marker
    holds = marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, ""))
    return requirement if holds else None


@cache
def distributions(extra=""):
    """Names of all that `pip install torqued[extra]` brings."""
    found, waiting = set(), [Requirement(f"torqued[{extra}]" if extra else "torqued")]
    while waiting:
        wanted = waiting.pop()
        mark = (wanted.name, *sorted(wanted.extras))
        if mark in found:
            continue
        found.add(mark)
        if wanted.name == "torqued":
            lines = [*PROJECT["dependencies"]]
            for one in wanted.extras:
                lines += PROJECT["optional-dependencies"][one]
        else:
            try:
                lines = requires(wanted.name) or []
            except PackageNotFoundError:
                continue  # for another Python or system, or optional: then it is missed below
        waiting += [one for line in lines if (one := needs(line, wanted.extras))]
    return frozenset(key(name) for name, *_ in found)


@cache
def import_names(extra):
    """What can be imported then."""
    return imported_from(distributions(extra))


def imported_from(brought):
    """Names that distributions are imported by."""
    names = {
        name
        for name, owners in packages_distributions().items()
        if brought & {key(owner) for owner in owners}
    }
    return names.union(*(IMPORTED_AS.get(name, set()) for name in brought))


def run_with(extra, folder, *arguments, program=("-m", "torqued.tools.cli.main"), **options):
    """`torqued …` as it is after `pip install 'torqued[extra]'`, in a process of its own."""
    (folder / "sitecustomize.py").write_text(HIDING)
    environment = {"TORQUED_TEST_ALLOWED": " ".join(sorted(import_names(extra)))}
    return subprocess.run(
        [sys.executable, *program, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | environment | {"PYTHONPATH": str(folder)},
        **options,
    )
