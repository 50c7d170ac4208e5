"""Rights: one table for every operation, and what it decides."""

import numpy as np
import pytest

from torqued.client.errors import AccessError
from torqued.kernels.control.laws import LAWS
from torqued.server.access.rights import RIGHTS, Caller, check, check_owner
from torqued.server.requests.operations import OPERATIONS


def caller(right, key=b"k"):
    return Caller(key, "someone", right, None)


def test_every_operation_takes_a_right():
    assert {operation.right for operation in OPERATIONS.values()} == set(RIGHTS)


@pytest.mark.parametrize(
    "message, needed",
    [
        ({"op": "dynamics"}, "read"),
        ({"op": "stats"}, "read"),
        ({"op": "open", "law": "stream"}, "read"),
        ({"op": "open"}, "command"),
        ({"op": "open", "law": ["stream"]}, "command"),
        ({"op": "open", "law": np.array(["stream", "stream"])}, "command"),
        *(({"op": "open", "law": law}, "command") for law in sorted(set(LAWS) - {"stream"})),
        ({"op": "control"}, "command"),
        ({"op": "reload"}, "administrate"),
        ({"op": "log_level"}, "administrate"),
        ({"op": "shutdown"}, "administrate"),
        ({"op": "batch", "operation": "control"}, "command"),
        ({"op": "batch", "operation": "dynamics"}, "read"),
        ({"op": "batch", "operation": ["dynamics"]}, "read"),
        ({"op": "close"}, "read"),
    ],
)
def test_right_is_enough_from_the_needed_one_on(message, needed):
    operation = OPERATIONS[message["op"]]
    assert operation.right_for(message) == needed
    for right in (None, *RIGHTS):
        if right and RIGHTS.index(right) >= RIGHTS.index(needed):
            check(caller(right), operation.name, needed)
        else:
            with pytest.raises(AccessError) as caught:
                check(caller(right), operation.name, needed)
            assert (caught.value.code, caught.value.expected) == ("denied", needed)


def test_sessions_of_others_are_an_administrators_to_end():
    check_owner(caller("read"), caller("read"), 1)
    check_owner(caller("administrate", b"other"), caller("read"), 1)
    with pytest.raises(AccessError, match="session 1 is another client's"):
        check_owner(caller("command", b"other"), caller("read"), 1)
