"""Which way exchanges go: it is there where it can be built, can be left, and is named."""

import shutil
import sysconfig

import pytest

from torqued.client import compiled
from torqued.client.compiled import VARIABLE, native

COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]


def test_compiled_part_is_there_where_there_is_a_compiler():
    if native() is None:
        assert shutil.which(COMPILER) is None, "install anew: it was not built, or from others"


@pytest.mark.parametrize("value", ["1", "yes"])
def test_variable_makes_everything_python(monkeypatch, value):
    monkeypatch.setenv(VARIABLE, value)
    assert native() is None


def test_part_that_was_built_from_other_sources_is_not_used(monkeypatch):
    if native() is None:
        pytest.skip("the client's compiled part was not built")
    monkeypatch.setattr(compiled, "VERSION", -1)
    compiled._built.cache_clear()
    try:
        with pytest.warns(UserWarning, match="was built from other sources"):
            assert native() is None
    finally:
        compiled._built.cache_clear()
