"""States that a client has in memory of its own, and what it could do to them meanwhile."""

import contextlib
import mmap
import os
import select
import threading

import numpy as np
import pytest
import zmq
from agreement import assert_agree
from eventually import PATIENCE, eventually

from torqued.client import codec, errors, shared_states
from torqued.client.shared_states import PREFIX, StatesFile

pytestmark = pytest.mark.slow

NV = 20
#: Of the largest entry: a batch adds in another order.
ROUNDING = 1e-12


@contextlib.contextmanager
def living_worker(daemon):
    """A client whose daemon's worker does not die meanwhile, and computes as before."""
    with daemon.client() as client:
        before = client.stats().worker
        yield client
        after = client.stats().worker
        assert after["deaths"] == before["deaths"]
        assert before["pid"] in (None, after["pid"])


def own_files():
    """What this process has open."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return found


def written(file, arrays, direct=False):
    """What a batch tells of arrays that are in a file."""
    told = file.place(arrays)
    file.write(arrays)
    return {**told, "reply": file._reply} if direct else told


def test_states_go_through_memory_that_is_used_again(daemon, robot, states):
    q, v = states
    assert q.nbytes + v.nbytes > shared_states.SMALLEST
    with living_worker(daemon) as client:
        asked = []
        ask = client._ask
        client._ask = lambda *args: asked.append(args[3]) or ask(*args)
        for sign in (1.0, -1.0):
            g = client.batch("dynamics", q=sign * q, v=v, want=["g"]).g
            assert_agree(g, [robot.gravity(sign * row) for row in q], ROUNDING)
        more = np.tile(q, (3, 1))  # for which the file grows
        g = client.batch("dynamics", q=more, want=["g"]).g
        assert_agree(g, np.tile([robot.gravity(row) for row in q], (3, 1)), ROUNDING)
        batches = [fields for fields in asked if "operation" in fields]
        assert all("q" not in fields and "v" not in fields for fields in batches)
        (name,) = {fields["states"]["name"] for fields in batches}
        assert any(name in file for file in own_files())
        wrong = q.copy()
        wrong[7, 1] = np.nan
        with pytest.raises(errors.FieldError, match=r"^state 7: q\[1\] is nan"):
            client.batch("dynamics", q=wrong, v=v)
        client.batch("dynamics", q=q[:2], v=v[:2])
        assert "states" not in asked[-1]  # not worth a file
    assert not any(name in file for file in own_files())


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("operation", ["dynamics", "inverse_dynamics", "derivatives"])
def test_batches_in_a_loop_are_of_their_own_states_each(daemon, robot, states, operation, keeps):
    """Though all but an id and the memory's numbers is the same: once in memory that is used again,
    once while the client still has the results of the last one."""
    q, v = states
    many = robot.batch()
    common = {
        "dynamics": {"want": ["C", "g"]},
        "inverse_dynamics": {"a": v},
        "derivatives": {"of": "inverse_dynamics", "a": v},
    }[operation]

    def expectation(q, v):
        if operation == "dynamics":
            return many.dynamics(q, v, want=("C", "g"))
        if operation == "inverse_dynamics":
            return {"tau": many.inverse_dynamics(q, v, common["a"])}
        dq, dv = many.inverse_dynamics_derivatives(q, v, common["a"])
        return {"M": many.mass_matrix(q), "dtau_dq": dq, "dtau_dv": dv}

    with living_worker(daemon) as client:
        kept = []
        for k in range(8):
            given = {"q": q + 0.1 * k, "v": (1.0 - 0.2 * k) * v}
            found, expected = client.batch(operation, **given, **common), expectation(**given)
            assert all(np.array_equal(found[key], x) for key, x in expected.items())
            kept += [(found, expected)] if keeps else []
            if k == 5:  # what is wrong is told, and what comes after it is right
                given["v"][9, 2] = np.inf
                with pytest.raises(errors.FieldError, match=r"^state 9: v\[2\] is inf"):
                    client.batch(operation, **given, **common)
        for found, expected in kept:  # nothing was written over
            assert all(np.array_equal(found[key], x) for key, x in expected.items())


def test_batches_of_two_clients_in_turn_are_of_their_own_states(daemon, robot, states):
    q, v = states
    many = robot.batch()
    with living_worker(daemon) as one, daemon.client() as other:
        for k in range(6):
            for client, sign in ((one, 1.0), (other, -1.0)):
                g = client.batch("dynamics", q=sign * q + k, v=v, want=["g"]).g
                assert np.array_equal(g, many.gravity(sign * q + k))


def test_numbers_may_come_after_their_request(daemon, robot, states):
    file = StatesFile()
    told = file.direct(file.place({"q": states[0]}))
    with living_worker(daemon), zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        ask(daemon, socket, told)
        file.write_late({"q": states[0]}, 77)
        assert select.select([file.replies], [], [], PATIENCE)[0]
        reply = codec.decode_reply(os.read(file.replies, select.PIPE_BUF))
        assert reply["ok"] and reply["id"] == 77


@pytest.mark.parametrize(
    "mark, words",
    [
        (0, "numbers of request 77 are not there after 1 s"),
        ("x", "mark 'x' of request 77"),
        (4, "an offset and a shape within the file"),
        (10**9, "an offset and a shape within the file"),
        (-8, "an offset and a shape within the file"),
    ],
)
def test_numbers_that_do_not_come_are_not_waited_for_long(daemon, states, mark, words):
    file = StatesFile()
    told = {**file.place({"q": states[0]}), "mark": mark}
    file.write_late({"q": states[0]}, 76)  # of another request
    with living_worker(daemon), zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        ask(daemon, socket, told)
        assert socket.poll(PATIENCE * 1000)
        reply = codec.decode_reply(socket.recv())
        assert reply["error"]["code"] == "bad_field" and reply["error"]["field"] == "states"
        assert words in reply["error"]["message"]


def test_states_go_through_the_sockets_where_the_daemon_cannot_read_them(
    daemon, robot, states, monkeypatch
):
    q, v = states
    with living_worker(daemon) as client:
        monkeypatch.setattr(shared_states, "PREFIX", "torqued-hidden-")  # a name that it refuses
        g = client.batch("dynamics", q=q, v=v, want=["g"]).g
        assert_agree(g, [robot.gravity(row) for row in q], ROUNDING)
        assert not client._batches.states.wanted
        assert client._batches.results.wanted  # which are another matter


@pytest.mark.parametrize(
    "change, words",
    [
        ({"name": "/etc/passwd"}, "none of a client's"),
        ({"name": PREFIX + "0" * 32}, "is another file"),
        ({"name": 5}, "none of a client's"),
        ({"process": "self"}, "process: 'self', expected a whole number"),
        ({"process": -1}, "No such file"),
        ({"descriptor": 10**6}, "No such file"),
        ({"descriptor": None}, "descriptor: None, expected a whole number"),
        ({"descriptor": 0}, "is another file"),
        ({"reply": 0}, "is another file"),
        ({"reply": "x"}, "reply: 'x', expected a whole number"),
        ({"arrays": {"q": {"offset": 0, "shape": [10**6, NV]}}}, "within the file"),
        ({"arrays": {"q": {"offset": -8, "shape": [1, NV]}}}, "within the file"),
        ({"arrays": {"q": {"offset": 4, "shape": [1, NV]}}}, "within the file"),
        ({"arrays": {"q": {"offset": 0, "shape": [-1, NV]}}}, "within the file"),
        ({"arrays": {"q": {"offset": 0, "shape": "x"}}}, "within the file"),
        ({"arrays": {"want": {"offset": 0, "shape": [1]}}}, "where each lies"),
        ({"arrays": 5}, "where each lies"),
    ],
)
def test_states_that_are_not_there_are_refused(daemon, states, change, words):
    file = StatesFile()
    told = written(file, {"q": states[0]})
    with living_worker(daemon) as client:
        good = client.call("batch", operation="dynamics", want=["g"], states=told)
        assert good.g.shape == (len(states[0]), NV)
        with pytest.raises(errors.FieldError, match=words) as caught:
            client.call("batch", operation="dynamics", want=["g"], states={**told, **change})
        assert caught.value.field == "states"


def test_file_that_could_shrink_is_refused(daemon, states):
    file = StatesFile()
    told = written(file, {"q": states[0]})
    bare = os.memfd_create(file.name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(bare, states[0].tobytes())
    refused = pytest.raises(errors.FieldError, match="can shrink, expected a file sealed")
    with living_worker(daemon) as client, refused:
        client.call("batch", operation="dynamics", states={**told, "descriptor": bare})
    os.close(bare)
    with pytest.raises(PermissionError):
        os.ftruncate(file._file, 8)


def test_file_without_bytes_or_gone_is_refused(daemon, states):
    empty, gone = StatesFile(), StatesFile()
    told = written(gone, {"q": states[0]})
    gone.close()
    nothing = {**told, "descriptor": empty._file, "name": empty.name}
    with living_worker(daemon) as client:
        for wrong in (told, nothing):
            with pytest.raises(errors.FieldError) as caught:
                client.call("batch", operation="dynamics", want=["g"], states=wrong)
            assert caught.value.field == "states"


@pytest.mark.parametrize(
    "common",
    [
        {"operation": "dynamics"},
        {"operation": "inverse_dynamics"},
        {"operation": "derivatives", "of": "inverse_dynamics"},
        {"operation": "derivatives", "of": "geometry"},  # which goes state by state
    ],
)
def test_states_may_change_while_they_are_computed_with(daemon, states, common):
    """Results are then of nobody's states, or an error is told; nothing worse."""
    q, v = (np.tile(x, (2, 1)) for x in states)
    fields = {"q": q, "v": v} | ({} if common["operation"] == "dynamics" else {"a": v})
    file, stop = StatesFile(), threading.Event()
    told = written(file, fields)
    memory = np.frombuffer(mmap.mmap(file._file, os.fstat(file._file).st_size), np.float64)
    good = memory.copy()
    junk = np.random.default_rng(1).integers(0, 2**64, len(memory), np.uint64).view(np.float64)

    def change():
        while not stop.is_set():
            memory[:] = junk
            memory[::7] = np.nan
            memory[:] = good

    thread = threading.Thread(target=change)
    with living_worker(daemon) as client:
        client.timeout = PATIENCE
        thread.start()
        try:
            for _ in range(20):
                try:
                    client.call("batch", **common, states=told)
                except errors.RequestError as error:
                    assert error.code in ("bad_field", "singular")
        finally:
            stop.set()
            thread.join()
        now = client.call("batch", **common, states=told).as_dict()
        then = client.call("batch", **common, **fields).as_dict()
        assert now.keys() == then.keys()
        assert all(np.array_equal(now[key], then[key]) for key in then)


def ask(daemon, socket, told):
    """A batch by hand, whose reply may come either way."""
    socket.linger = 0
    socket.connect(daemon.endpoint)
    fields = {"operation": "dynamics", "want": ["g"], "memory": True, "states": told}
    socket.send(codec.request(77, "batch", fields))


def test_reply_comes_by_the_pipe(daemon, states):
    file = StatesFile()
    told = written(file, {"q": states[0]}, direct=True)
    with living_worker(daemon) as client, zmq.Context() as context:
        done = client.stats().worker["done"]
        with context.socket(zmq.DEALER) as socket:
            ask(daemon, socket, told)
            assert select.select([file.replies], [], [], PATIENCE)[0]
            reply = codec.decode_reply(os.read(file.replies, select.PIPE_BUF))
            assert reply["ok"] and reply["id"] == 77
            assert reply["memory"]["arrays"]["g"]["shape"] == [len(states[0]), NV]
            eventually(lambda: client.stats().worker["done"] == done + 1)
            assert client.stats().outcomes["batch"]["ok"] >= 1
            assert not socket.poll(0)


@pytest.mark.parametrize("pipe", ["full", "closed"])
def test_reply_comes_by_the_socket_where_the_pipe_does_not_take_it(daemon, states, pipe):
    file = StatesFile()
    told = written(file, {"q": states[0]}, direct=True)
    if pipe == "full":
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(file._reply, bytes(select.PIPE_BUF))
    else:
        reader, told["reply"] = os.pipe()
        os.close(reader)
    with living_worker(daemon), zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        ask(daemon, socket, told)
        assert socket.poll(PATIENCE * 1000)
        reply = codec.decode_reply(socket.recv())
        assert reply["ok"] and reply["id"] == 77
