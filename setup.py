"""Builds take nothing that an earlier one left in the sources, and leave nothing there.

The client's compiled part is optional: without a C compiler the package is built without it, and
sessions in shared memory say what to install (client/memory/compiled.py). An editable installation
has it beside its sources.

setuptools copies modules to `build/` beside the sources and packages whatever lies in that folder,
modules that have been moved or deleted since the last build too. Here the folder is a new one in
the temporary folder each time. Everything else about the package is in pyproject.toml.
"""

import atexit
import shutil
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.egg_info import egg_info

SCRATCH = Path(tempfile.mkdtemp(prefix="torqued-build-"))
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)


class Build(build):
    def initialize_options(self) -> None:
        super().initialize_options()
        self.build_base = str(SCRATCH)


class EggInfo(egg_info):
    def initialize_options(self) -> None:
        super().initialize_options()
        self.egg_base = str(SCRATCH)


SOURCES = Path("client/native")
NATIVE = Extension(
    "torqued.client._native",
    sources=sorted(str(path) for path in SOURCES.glob("*.c")),
    depends=sorted(str(path) for path in SOURCES.glob("*.h")),
    extra_compile_args=["-std=gnu11", "-O2", "-fvisibility=hidden"],
    optional=True,
)

setup(cmdclass={"build": Build, "egg_info": EggInfo}, ext_modules=[NATIVE])
