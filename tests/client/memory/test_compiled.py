"""The client's compiled part: built where it can be, and what is said where it is missing."""

import shutil
import sys
import sysconfig

import pytest

from torqued.client.memory import compiled
from torqued.client.memory.compiled import page_type
from torqued.common.errors import TorquedError

COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]
REMEDY = r"install a C compiler .* rebuild with pip install .* or use transport 'socket'"


@pytest.mark.skipif(shutil.which(COMPILER) is None, reason="no C compiler")
def test_compiled_part_is_there_where_there_is_a_compiler():
    assert page_type().__module__ == "torqued.client._native"


def test_part_that_was_not_built_is_named_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "torqued.client._native", None)
    with pytest.raises(TorquedError, match=f"compiled part, which was not built: {REMEDY}"):
        page_type()


def test_part_that_was_built_from_other_sources_is_not_used(monkeypatch):
    monkeypatch.setattr(compiled, "VERSION", -1)
    with pytest.raises(TorquedError, match=f"was built from other sources: {REMEDY}"):
        page_type()
