"""Builds take nothing that an earlier one left in the sources, and leave nothing there.

setuptools copies modules to `build/` beside the sources and packages whatever lies in that folder,
modules that have been moved or deleted since the last build too. Here the folder is a new one in
the temporary folder each time. Everything else about the package is in pyproject.toml.
"""

import atexit
import shutil
import tempfile
from pathlib import Path

from setuptools import setup
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


setup(cmdclass={"build": Build, "egg_info": EggInfo})
