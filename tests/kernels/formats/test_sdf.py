"""SDF files are refused with what to do."""

from __future__ import annotations

import pytest

from torqued.kernels import ModelError
from torqued.kernels.formats.sources import read_file, read_whole


def test_sdf_says_what_converts_it(tmp_path):
    with pytest.raises(ModelError, match=r"SDF file .*`sdf2mjcf <text> robot.xml`"):
        read_whole('<sdf version="1.7"><model name="a"/></sdf>')
    (tmp_path / "arm.sdf").write_text("<sdf/>")
    with pytest.raises(ModelError, match="pip install sdformat-mjcf"):
        read_file(tmp_path / "arm.sdf")
