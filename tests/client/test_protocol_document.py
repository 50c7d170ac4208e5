"""docs/PROTOCOL.md says what the code does."""

import re

import pytest

from support.golden import FRAMES, MESSAGES
from support.protocol_document import DOCUMENT, marked, rows
from torqued.client import codec, errors
from torqued.client.memory.page_layout import (
    CLIENT_SLEEPS,
    DAEMON_SLEEPS,
    MAGIC,
    OUTPUTS,
    PAGE_FIELDS,
    STATES,
)
from torqued.client.sessions import frames
from torqued.common.stacked import STACKED
from torqued.common.status import TABLE
from torqued.server.loop.arrival_loop import MAX_AHEAD, PERIODS
from torqued.server.loop.links import MAX_SPIN
from torqued.server.loop.loop_records import MAX_SESSIONS
from torqued.server.requests.derivatives import DERIVATIVES
from torqued.server.requests.limits import LIMITS, MAX_INLINE
from torqued.server.requests.operations import OPERATIONS
from torqued.server.requests.outbox import MAX_BYTES_UNDER_WAY
from torqued.server.transport.sockets import KINDS, SEND_QUEUE
from torqued.server.worker.jobs import MAX_JOBS, MAX_OF_ONE


def words(cell):
    return tuple(word.strip() for word in cell.split(",") if word.strip())


def test_version_is_the_codes():
    assert f"# The wire protocol, version {codec.PROTOCOL_VERSION}\n" in DOCUMENT


def test_operations_and_their_fields_are_the_codes():
    documented = [
        (socket, name, right, *map(words, fields))
        for socket, name, right, *fields in rows(marked("operations"))
    ]
    assert documented == [
        (row.socket, row.name, row.right, row.required, row.optional, row.reply)
        for row in OPERATIONS.values()
    ]


def test_limits_of_fields_are_the_codes():
    documented = {field: int(most) for field, most, *_ in rows(marked("limits"))}
    assert documented == {field: limit.most for field, limit in LIMITS.items()}


def test_stacked_fields_of_batches_are_the_codes():
    (stacked,) = re.findall(r"The numbers of a state, (.*?), come with", DOCUMENT)
    assert tuple(re.split(", | and ", stacked)) == STACKED


def test_every_field_of_a_request_is_explained():
    section = DOCUMENT.split("### Fields of requests")[1].split("###")[0]
    explained = {row[0] for row in rows(section)}
    used = {
        field
        for _, _, _, required, optional, _ in rows(marked("operations"))
        for field in words(required) + words(optional)
    }
    assert explained == used


def test_derivatives_are_the_codes():
    documented = [
        (name, words(needs), words(takes)) for name, needs, takes, _ in rows(marked("derivatives"))
    ]
    assert documented == [(name, row.needs, row.takes) for name, row in DERIVATIVES.items()]


def test_error_codes_are_the_codes():
    section = DOCUMENT.split("### Error codes")[1].split("###")[0]
    assert [row[0] for row in rows(section)] == list(errors.CODES)


def test_status_bits_are_the_codes():
    documented = [
        (int(bit), name, meaning, usable == "yes")
        for bit, name, meaning, usable in rows(marked("status"))
    ]
    assert documented == [(row.bit, row.name, row.meaning.strip("`"), row.usable) for row in TABLE]


@pytest.mark.parametrize(
    ("name", "fields"),
    [("state frame", frames.STATE_FIELDS), ("output frame", frames.OUTPUT_FIELDS)],
)
def test_heads_of_frames_are_the_codes(name, fields):
    kinds = {"u64": "uint64", "i64": "int64", "f64": "float64"}
    documented = [tuple(row[:3]) for row in rows(marked(name))]
    assert documented == [(str(8 * k), kinds[kind], n) for k, (n, kind, _) in enumerate(fields)]


def test_page_of_shared_memory_is_the_codes():
    documented = [tuple(row) for row in rows(marked("page"))]
    assert documented == [
        (str(8 + 8 * k), name, meaning) for k, (name, meaning) in enumerate(PAGE_FIELDS)
    ]
    assert f"the eight bytes `{MAGIC.decode()}`" in DOCUMENT
    words = [(STATES, "client"), (DAEMON_SLEEPS, "daemon")]
    words += [(OUTPUTS, "daemon"), (CLIENT_SLEEPS, "client")]
    for place, writer in words:
        assert f"| {place} | uint32 | {writer} |" in DOCUMENT
    assert f"one answer per {PERIODS} periods, and up to {MAX_AHEAD} in a burst" in DOCUMENT
    assert f"0 … {MAX_SPIN:g}, default as configured" in DOCUMENT


def test_quantities_are_the_codes():
    from torqued.kernels.dynamics.quantities import TABLE

    def shape(quantity):
        sizes = ", ".join(map(str, quantity.shape))
        return f"({sizes},)" if len(quantity.shape) == 1 else f"({sizes})"

    section = DOCUMENT.split("### Quantities")[1].split("###")[0]
    expected = [
        [
            quantity.name,
            shape(quantity),
            quantity.unit,
            quantity.meaning + "; depends on v" * ("velocity" in quantity.needs),
        ]
        for quantity in TABLE
    ]
    assert rows(section) == expected


def test_laws_are_the_codes():
    from torqued.kernels.control.laws import LAWS

    assert {row[0] for row in rows(marked("laws"))} == set(LAWS)


def test_limits_are_the_codes():
    assert f"at most {codec.MAX_MESSAGE} bytes" in DOCUMENT
    assert f"nest at most {codec.MAX_NESTING} deep" in DOCUMENT
    assert f"at most {codec.MAX_MEMBERS} members together" in DOCUMENT
    assert f"one of {MAX_SESSIONS} places" in DOCUMENT
    assert f"{MAX_JOBS} jobs are waiting" in DOCUMENT
    assert f"{MAX_OF_ONE} of one client" in DOCUMENT
    assert f"{KINDS['control'][1]} on the control socket" in DOCUMENT
    assert f"once {SEND_QUEUE} of them wait" in DOCUMENT
    assert f"{MAX_BYTES_UNDER_WAY // 2**20} MiB of large ones" in DOCUMENT
    assert f"take more than {MAX_INLINE * 1000:g} ms" in DOCUMENT
    assert f"number of dimensions n, at most {codec.MAX_DIMENSIONS}" in DOCUMENT


@pytest.mark.parametrize("name", [*MESSAGES, *FRAMES])
def test_golden_bytes_are_the_tests(name):
    golden = {row[0]: row[1].replace(" ", "") for row in rows(marked("golden"))}
    assert golden[name] == (MESSAGES | FRAMES)[name][-1]


def test_document_shows_no_other_bytes():
    assert len(rows(marked("golden"))) == len(MESSAGES) + len(FRAMES)
