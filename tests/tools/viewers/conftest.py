"""What tests of viewers share."""

import pytest

from support.viewing import Driver


@pytest.fixture(scope="module")
def driver(daemon):
    """A controller that serves a session of the module's daemon."""
    thread = Driver(daemon)
    thread.start()
    assert thread.started.wait(60.0)
    yield thread
    thread.stopping.set()
    thread.join(60.0)
    assert not thread.is_alive()
