"""Memory that a client shares for its batches: what it may hand over, and what it may do to it."""

import contextlib
import fcntl
import gc
import mmap
import os
import signal
import socket
import threading
from pathlib import Path

import numpy as np
import pytest

from support.agreement import assert_agree
from support.eventually import PATIENCE, eventually
from support.standstill import standing_still
from torqued.client import Client, TimeoutError, codec, errors
from torqued.client.endpoints import memory_endpoint
from torqued.client.memory import batch_memory
from torqued.client.memory.batch_memory import BatchMemory
from torqued.common.results import Result
from torqued.server.worker.memories import F_SEAL_FUTURE_WRITE, MAX_MEMORIES

pytestmark = pytest.mark.slow

NV = 20
#: Of the largest entry: a batch adds in another order.
ROUNDING = 1e-12


def gravity(client, q, **options):
    return client.batch("dynamics", q=q, v=0.0 * q, want=["g"], **options).g


@contextlib.contextmanager
def living_worker(daemon):
    """A client whose daemon's worker does not die meanwhile."""
    with daemon.client() as client:
        client.batch("dynamics", q=np.zeros((2, NV)), want=["g"])
        before = client.stats().worker
        yield client
        after = client.stats().worker
        assert (after["deaths"], after["pid"]) == (before["deaths"], before["pid"])


class ByHand:
    """Memory of a client, written and described by hand."""

    def __init__(self, daemon, q):
        self.memory = BatchMemory(daemon.endpoint, PATIENCE)
        region = self.memory._reserve(2 * q.nbytes)
        self.map = self.memory._map
        np.ndarray(q.shape, buffer=self.map, offset=region.start)[:] = q
        self.described = {
            "name": self.memory.name,
            "states": {"q": {"offset": 0, "shape": list(q.shape)}},
            "results": [q.nbytes, q.nbytes],
        }

    def ask(self, client, **change):
        memory = {**self.described, **change}
        return client.call("batch", operation="dynamics", want=["g"], memory=memory)

    def close(self):
        self.memory.close()


@pytest.fixture
def by_hand(daemon, states):
    made = ByHand(daemon, states[0])
    yield made
    made.close()


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("operation", ["dynamics", "inverse_dynamics", "derivatives", "integrate"])
def test_batches_in_a_loop_are_of_their_own_states_each(daemon, robot, states, operation, keeps):
    """Once in memory that is used again, once while the client still has all results."""
    q, v = states
    many = robot.batch()
    common = {
        "dynamics": {"want": ["C", "J"], "frames": list(robot.frame_names[-2:])},
        "inverse_dynamics": {"a": v},
        "derivatives": {"of": "inverse_dynamics", "a": v},
        "integrate": {"dt": np.full(len(q), 0.1)},
    }[operation]

    def expectation(q, v):
        if operation == "dynamics":
            return many.dynamics(q, v, want=("C", "J"), frames=common["frames"])
        if operation == "inverse_dynamics":
            return {"tau": many.inverse_dynamics(q, v, common["a"])}
        if operation == "integrate":
            return {"q": many.integrate(q, v, common["dt"])}
        dq, dv = many.inverse_dynamics_derivatives(q, v, common["a"])
        return {"M": many.mass_matrix(q), "dtau_dq": dq, "dtau_dv": dv}

    def agree(found, expected):
        if isinstance(expected, dict | Result):
            return all(agree(found[key], expected[key]) for key in expected)
        return np.array_equal(found, expected)

    with living_worker(daemon) as client:
        kept = []
        for k in range(8):
            given = {"q": q + 0.1 * k, "v": (1.0 - 0.2 * k) * v}
            found, expected = client.batch(operation, **given, **common), expectation(**given)
            assert agree(found, expected)
            kept += [(found, expected)] if keeps else []
            if k == 5:  # what is wrong is named, and what comes after it is right
                given["v"][9, 2] = np.inf
                with pytest.raises(errors.FieldError, match=r"^state 9: v\[2\] is inf"):
                    client.batch(operation, **given, **common)
        assert all(agree(found, expected) for found, expected in kept)


def test_part_of_a_result_keeps_it_from_being_written_over(daemon, states):
    q, v = states
    with living_worker(daemon) as client:
        first = client.batch("dynamics", q=q, v=v)
        held = first.M[3]
        kept = held.copy()
        del first
        for k in range(4):
            client.batch("dynamics", q=q + k, v=v)
        assert np.array_equal(held, kept)
        with pytest.raises(ValueError, match="read-only"):
            held[0, 0] = 1.0
    assert np.array_equal(held, kept)  # also when the client is closed


def test_results_that_no_message_could_hold_have_room(daemon, robot, states):
    """The memory grows when the daemon says how much they take."""
    q = np.tile(states[0], (4, 1))
    with living_worker(daemon) as client:
        found = client.batch("dynamics", q=q, want=["Gamma"]).Gamma
        assert found.nbytes > codec.MAX_MESSAGE
        assert_agree(found[3], robot.christoffel(q[3]), ROUNDING)
        expected = found[7].copy()
        assert np.array_equal(client.batch("dynamics", q=q, want=["Gamma"]).Gamma[7], expected)


def test_memory_that_is_full_leaves_the_message(daemon, robot, states, monkeypatch):
    monkeypatch.setattr(batch_memory, "MAX_BYTES", 1000)
    with living_worker(daemon) as client:
        assert_agree(gravity(client, states[0])[0], robot.gravity(states[0][0]), ROUNDING)


def test_clients_beyond_those_whose_memory_is_taken_send_messages(daemon, robot, states):
    q = states[0][:4]
    with contextlib.ExitStack() as stack:
        taken = []
        with pytest.raises(errors.OperationError, match="send arrays in messages"):
            while len(taken) <= MAX_MEMORIES:
                taken.append(BatchMemory(daemon.endpoint, PATIENCE))
                stack.callback(taken[-1].close)
        with living_worker(daemon) as client:
            assert_agree(gravity(client, q), [robot.gravity(x) for x in q], ROUNDING)
    with daemon.client() as client:  # there is room again

        def is_taken():
            with contextlib.suppress(errors.OperationError):
                BatchMemory(daemon.endpoint, PATIENCE).close()
                return True

        eventually(is_taken)
        assert_agree(gravity(client, q), [robot.gravity(x) for x in q], ROUNDING)


def test_memory_of_a_client_that_has_left_is_dropped(daemon, states):
    q, _ = states
    with daemon.client() as client:
        gravity(client, q)
        pid = client.stats().worker["pid"]

        def mapped():
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
            return sum("torqued-batch" in line for line in lines)

        before = mapped()  # those of tests before may still be among them
        others = [daemon.client() for _ in range(3)]
        for other in others:
            gravity(other, q)
        assert mapped() > 1
        for other in others:
            other.close()
        eventually(lambda: mapped() <= before)
    eventually(lambda: mapped() < before)


def test_new_worker_has_the_memory_of_those_before_it(daemon, robot, states):
    q, _ = states
    with daemon.client() as client:
        for sign in (1.0, -1.0):
            found = gravity(client, sign * q)
            assert_agree(found[0], robot.gravity(sign * q[0]), ROUNDING)
            worker = client.stats().worker
            os.kill(worker["pid"], signal.SIGKILL)
            eventually(lambda deaths=worker["deaths"]: client.stats().worker["deaths"] > deaths)


def test_memory_is_handed_over_again_after_a_restart(another, states):
    q, _ = states
    daemon = another("--robot", "chain20").start()
    with Client(daemon.endpoint, timeout=PATIENCE) as client:
        expected = gravity(client, q)
        daemon.stop()
        daemon.start()
        for _ in range(3):
            assert np.array_equal(gravity(client, q), expected)


def test_batch_without_a_reply_gives_its_memory_up(daemon, robot, states):
    """The worker may still write there."""
    q, _ = states
    with daemon.client() as client, daemon.client() as other:
        gravity(client, q)
        with standing_still(other.stats().worker["pid"]), pytest.raises(TimeoutError):
            gravity(client, q, timeout=0.1)
        for k in range(3):
            assert_agree(gravity(client, q - k)[1], robot.gravity(q[1] - k), ROUNDING)


def test_forked_process_keeps_results_that_its_parent_has_no_more_use_for(daemon, states):
    q, _ = states
    with daemon.client() as client:
        found = gravity(client, q)
        expected = found.copy()
        (go, going), (result, resulting) = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.read(go, 1)
            os.write(resulting, b"y" if np.array_equal(found, expected) else b"n")
            os._exit(0)
        del found
        for k in range(3):
            gravity(client, q + 1 + k)
        os.write(going, b"x")
        assert os.read(result, 1) == b"y"
        os.waitpid(child, 0)
        for descriptor in (go, going, result, resulting):
            os.close(descriptor)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"name": "torqued-" + "0" * 32}, "is unknown, expected the name"),
        ({"name": "/etc/passwd"}, "is unknown, expected the name"),
        ({"name": 5}, "is unknown, expected the name"),
        ({"states": {"q": {"offset": 0, "shape": [10**6, NV]}}}, "within the memory"),
        ({"states": {"q": {"offset": 0, "shape": [2**62, 8]}}}, "within the memory"),
        ({"states": {"q": {"offset": -8, "shape": [1, NV]}}}, "within the memory"),
        ({"states": {"q": {"offset": 4, "shape": [1, NV]}}}, "within the memory"),
        ({"states": {"q": {"offset": 0, "shape": [-1, NV]}}}, "within the memory"),
        ({"states": {"q": {"offset": 0, "shape": "x"}}}, "within the memory"),
        ({"states": {"want": {"offset": 0, "shape": [1]}}}, "where each lies"),
        ({"states": 5}, "where each lies"),
        ({"results": [0]}, "within the memory"),
        ({"results": 5}, "within the memory"),
        ({"results": ["x", 10]}, "within the memory"),
        ({"results": [-64, 10**9]}, "within the memory"),
        ({"results": [2**40, 10**9]}, "within the memory"),
        ({"results": [2**63 - 64, 2**64 - 1]}, "within the memory"),
        ({"states": {"q": {"offset": 2**63 - 8, "shape": [1, NV]}}}, "within the memory"),
        ({"states": {"q": {"offset": 2**64 - 8, "shape": [1, NV]}}}, "within the memory"),
        ({"states": {"q": {"offset": 0, "shape": [1, NV], "strides": [8]}}}, "within the memory"),
        ({"states": {k: {"offset": 0, "shape": [2**21]} for k in "qv"}}, "at most the memory's"),
        ({"place": 5}, "'place' is unknown"),
    ],
)
def test_places_outside_of_the_memory_are_refused(daemon, states, by_hand, change, words):
    with living_worker(daemon) as client:
        assert by_hand.ask(client)["memory"]["g"]["shape"] == [len(states[0]), NV]
        with pytest.raises(errors.FieldError, match=words) as caught:
            by_hand.ask(client, **change)
        assert caught.value.field == "memory"


def test_results_without_room_are_refused_with_their_size(daemon, states, by_hand):
    size = states[0].nbytes
    with living_worker(daemon) as client:
        with pytest.raises(errors.MessageError, match=f"results of {size} bytes") as caught:
            by_hand.ask(client, results=[size, size - 1])
        assert (caught.value.field, caught.value.value) == ("memory", size)


def test_results_may_take_the_place_of_their_states(daemon, robot, states, by_hand):
    with living_worker(daemon) as client:
        place = by_hand.ask(client, results=[0, 10**6])["memory"]["g"]
        found = np.ndarray(place["shape"], buffer=by_hand.map, offset=place["offset"])
        assert place["offset"] == 0
        assert_agree(found, [robot.gravity(q) for q in states[0]], ROUNDING)


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
    """Results are then of other states, or an error is told; nothing worse."""
    q, v = states
    fields = {"q": q, "v": v} | ({} if common["operation"] == "dynamics" else {"a": v})
    stop = threading.Event()
    made = ByHand(daemon, np.concatenate(list(fields.values())))
    memory = np.frombuffer(made.map, np.float64, sum(x.size for x in fields.values()))
    places = {key: {"offset": k * q.nbytes, "shape": list(q.shape)} for k, key in enumerate(fields)}
    described = {"name": made.memory.name, "states": places, "results": [3 * q.nbytes, 4 << 20]}
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
                    client.call("batch", **common, memory=described)
                except errors.RequestError as error:
                    assert error.code in ("bad_field", "singular")
        finally:
            stop.set()
            thread.join()
        assert client.call("batch", **common, memory=described)
    made.close()


def offered(daemon, descriptor, message=batch_memory.HANDOVER):
    """The daemon's reply to a file that is handed over."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(memory_endpoint(daemon.endpoint).removeprefix("ipc://"))
        socket.send_fds(connection, [message], [descriptor])
        return codec.decode_reply(connection.recv(batch_memory.MAX_REPLY))


def sealed_file(seals, size=4096):
    file = os.memfd_create("any", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(file, size)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
    return file


def test_files_that_are_not_such_memory_are_refused(daemon, tmp_path):
    good = sealed_file(fcntl.F_SEAL_SHRINK)
    assert offered(daemon, good)["ok"]
    ordinary = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    unsealed = sealed_file(fcntl.F_SEAL_GROW)
    readable = os.open(f"/proc/self/fd/{good}", os.O_RDONLY)
    huge = sealed_file(fcntl.F_SEAL_SHRINK, 2 * batch_memory.MAX_BYTES)
    frozen = sealed_file(fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE)
    for file, words in [
        (ordinary, "can shrink"),
        (unsealed, "can shrink"),
        (readable, "not open for reading and writing"),
        (huge, "at most"),
        (frozen, "sealed against writing"),
    ]:
        reply = offered(daemon, file)
        assert reply["error"]["field"] == "memory" and words in reply["error"]["message"]
    for file in (good, ordinary, unsealed, readable, huge, frozen):
        os.close(file)
    with living_worker(daemon) as client:
        assert gravity(client, np.zeros((4, NV))).shape == (4, NV)


def test_memory_that_can_no_longer_be_mapped_is_refused(daemon, by_hand):
    by_hand.memory._map = by_hand.map = None  # a file that is mapped cannot be sealed so
    gc.collect()
    fcntl.fcntl(by_hand.memory._file, fcntl.F_ADD_SEALS, F_SEAL_FUTURE_WRITE)
    with living_worker(daemon) as client, pytest.raises(errors.FieldError, match="mapped"):
        by_hand.ask(client)


def test_states_twice_are_refused(daemon, states, by_hand):
    refused = pytest.raises(errors.FieldError, match="q is also a field of the request")
    with living_worker(daemon) as client, refused:
        client.call("batch", operation="dynamics", q=states[0], memory=by_hand.described)


def test_interruption_of_the_copy_leaves_nothing_reserved(daemon, states, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with living_worker(daemon) as client:
        before = gravity(client, states[0])
        memory = client._batch_memory
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(np, "copyto", interrupted)
            gravity(client, states[0])
        assert not memory.is_usable
        assert np.array_equal(gravity(client, states[0]), before)


def test_memory_that_has_grown_too_large_is_refused(daemon, by_hand):
    os.ftruncate(by_hand.memory._file, 2 * batch_memory.MAX_BYTES)
    refused = pytest.raises(errors.FieldError, match=r"memory: \d+ bytes, expected 1 …")
    with living_worker(daemon) as client, refused:
        by_hand.ask(client)


def test_memory_cannot_be_taken_away_from_the_worker(by_hand):
    with pytest.raises(PermissionError):
        os.ftruncate(by_hand.memory._file, 8)


def test_descriptors_are_closed_with_the_memory(daemon):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        BatchMemory(daemon.endpoint, PATIENCE).close()
    with pytest.raises(OSError, match="No such file"):
        BatchMemory(daemon.endpoint + "x", PATIENCE)
    eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)


def test_arrays_of_a_closed_memory_stay(daemon, robot, states):
    client = daemon.client()
    found = gravity(client, states[0])
    client.close()
    assert isinstance(client._batch_memory._map, mmap.mmap)
    assert_agree(found[0], robot.gravity(states[0][0]), ROUNDING)
