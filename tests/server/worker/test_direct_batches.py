"""Batches that come again are asked of the worker itself; whatever becomes of it or its client."""

import contextlib
import itertools
import os
import select
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import zmq
from daemons import DaemonProcess, free_port
from eventually import PATIENCE, eventually
from standstill import standing_still

from torqued.client import Client, TimeoutError, codec, errors
from torqued.client.direct_batches import REQUEST
from torqued.client.shared_memory import FOLDER, PREFIX
from torqued.client.shared_states import StatesFile
from torqued.kernels import Robot
from torqued.server.access.keys import KeyFolder
from torqued.server.requests.shared_results import MOST_KEPT as MOST_RESULTS
from torqued.server.worker.direct_requests import MOST_CLIENTS, MOST_GIVEN_BACK
from torqued.server.worker.direct_serving import MOST_KNOWN
from torqued.server.worker.worker import DIRECT_LANES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sockets")
    folder.chmod(0o700)
    process = DaemonProcess(folder, "chain20", "--robot", "chain20").start()
    yield process
    assert process.stop() == 0
    assert "Traceback" not in process.log.read_text()


def gravity(client, q):
    return client.batch("dynamics", q=q, v=0.0 * q, want=["g"]).g


def made_direct(client, q):
    """Batches until the worker is asked itself."""
    for _ in range(3):
        gravity(client, q)


class Asked(list):
    """The operations that a client asks the daemon for from now on."""

    def __init__(self, client):
        ask = client._ask
        client._ask = lambda *args: self.append(args[0]) or ask(*args)

    @property
    def batches(self):
        return self.count("batch")


@pytest.fixture
def elsewhere():
    with ThreadPoolExecutor(2) as pool:
        yield pool.submit


def test_batches_in_a_loop_do_not_pass_through_the_daemon(daemon, robot, states):
    q, _ = states
    with daemon.client() as client:
        before = client.stats()
        asked, many = Asked(client), robot.batch()
        for k in range(12):
            assert np.array_equal(gravity(client, q + k), many.gravity(q + k))
        assert asked.batches == 1
        eventually(lambda: client.stats().worker["direct"] >= before.worker["direct"] + 11)
        after = client.stats()
        assert after.worker["done"] >= before.worker["done"] + 12
        assert after.requests - before.requests >= 12
        counted = before.outcomes.get("batch", {}).get("ok", 0)
        assert after.outcomes["batch"]["ok"] >= counted + 12


def test_several_kinds_of_batches_in_turn_are_direct(daemon, robot, states):
    q, v = states
    many = robot.batch()
    with daemon.client() as client:
        asked = Asked(client)
        for k in range(6):
            tau = client.batch("inverse_dynamics", q=q + k, v=v, a=v).tau
            assert np.array_equal(tau, many.inverse_dynamics(q + k, v, v))
            del tau
            assert np.array_equal(gravity(client, q - k), many.gravity(q - k))
        assert asked.batches == 2


def test_results_that_are_kept_are_not_written_over(daemon, robot, states):
    """And those of a loop, of which the last are there until the next have come, are direct."""
    q, _ = states
    many = robot.batch()
    with daemon.client() as client:
        asked = Asked(client)
        kept = [(gravity(client, q + k), many.gravity(q + k)) for k in range(4)]
        assert asked.batches == 4
        for k in range(6):
            found = gravity(client, q - k)
            assert np.array_equal(found, many.gravity(q - k))
        assert asked.batches == 6
        assert all(np.array_equal(found, expected) for found, expected in kept)


def test_wrong_state_is_named_and_the_next_ones_are_right(daemon, robot, states):
    q, _ = states
    many = robot.batch()
    with daemon.client() as client:
        made_direct(client, q)
        asked = Asked(client)
        for k in range(3):
            asked.clear()
            wrong = q.copy()
            wrong[k, 1] = np.nan
            with pytest.raises(errors.FieldError, match=rf"^state {k}: q\[1\] is nan"):
                gravity(client, wrong)
            assert asked.batches == 1  # which says what is wrong

            def is_direct(k=k):
                asked.clear()
                assert np.array_equal(gravity(client, q + k), many.gravity(q + k))
                return not asked.batches

            eventually(is_direct)
            assert len(client._batches.results._spare) == 1  # the same as before


def test_more_clients_than_places_each_get_their_own(daemon, robot, states):
    q, _ = states
    many = robot.batch()
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(daemon.client()) for _ in range(DIRECT_LANES * MOST_CLIENTS + 3)
        ]
        asked = [Asked(client) for client in clients]
        deaths = clients[0].stats().worker["deaths"]
        for k in range(3):
            for number, client in enumerate(clients):
                x = q + 10.0 * number + k
                assert np.array_equal(gravity(client, x), many.gravity(x))
        counted = [each.batches for each in asked]
        # Those for whom there was no place ask the daemon.
        assert counted.count(1) >= len(clients) - 3 and set(counted) <= {1, 3}
        assert clients[0].stats().worker["deaths"] == deaths


def test_new_worker_takes_the_place_of_one_that_died(daemon, robot, states):
    q, _ = states
    expected = robot.batch().gravity(q)
    with daemon.client() as client:
        for _ in range(3):
            made_direct(client, q)
            pid = client.stats().worker["pid"]
            os.kill(pid, signal.SIGKILL)
            eventually(lambda pid=pid: client.stats().worker["pid"] != pid)
            assert np.array_equal(gravity(client, q), expected)
        made_direct(client, q)
        asked = Asked(client)
        gravity(client, q)
        assert not asked.batches


def test_worker_that_dies_with_a_request_is_no_error(daemon, robot, states, elsewhere):
    q, _ = states
    with daemon.client() as client, daemon.client() as other:
        made_direct(client, q)
        worker = other.stats().worker
        (file,) = client._batches.states._spare
        asked = []
        file.write_late = lambda *args: StatesFile.write_late(file, *args) or asked.append(args)
        with standing_still(worker["pid"]):
            reply = elsewhere(gravity, client, q)
            eventually(lambda: asked)
            os.kill(worker["pid"], signal.SIGKILL)
        assert np.array_equal(reply.result(), robot.batch().gravity(q))
        assert other.stats().worker["failed"] == worker["failed"]


def test_silent_worker_ends_in_a_timeout(daemon, robot, states):
    q, _ = states
    with daemon.client() as client:
        made_direct(client, q)
        silent = pytest.raises(TimeoutError, match=r"no reply from the daemon's worker within 0\.1")
        with standing_still(client.stats().worker["pid"]), silent:
            client.batch("dynamics", q=q, v=0.0 * q, want=["g"], timeout=0.1)
        assert np.array_equal(gravity(client, -q), robot.batch().gravity(-q))


def urdf_of(robot_name, path):
    from torqued.kernels.model.families import family
    from torqued.kernels.model.urdf_writer import to_urdf

    path.write_text(to_urdf(family(robot_name, 20)))


def test_after_a_reload_nobody_gets_results_of_the_old_robot(make, tmp_path):
    """Also of a client that asks the worker, and not the daemon that has loaded another one."""
    path = tmp_path / "robot.urdf"
    robots = {}
    for name in ("chain", "tree"):
        urdf_of(name, path)
        robots[name] = Robot.from_urdf(path).batch()
    urdf_of("chain", path)
    daemon = make("--urdf", str(path))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (400, 20))
    with daemon.client() as client, daemon.client() as administrator:
        for name in ("tree", "chain", "tree"):
            made_direct(client, q)
            urdf_of(name, path)
            administrator.reload()
            for _ in range(4):
                assert np.array_equal(gravity(client, q), robots[name].gravity(q))


def test_reload_while_lanes_are_busy_counts_for_direct_ones(make, tmp_path, elsewhere):
    path = tmp_path / "robot.urdf"
    urdf_of("chain", path)
    daemon = make("--urdf", str(path))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (400, 20))
    with daemon.client() as client, daemon.client() as administrator:
        made_direct(client, q)
        # A job of the same client is in the same lane, and the new robots wait behind it.
        long = elsewhere(client.batch, "derivatives", of="geometry", q=q, v=q, a=q)
        eventually(lambda: administrator.stats().worker["jobs"])
        urdf_of("tree", path)
        for _ in range(3):
            administrator.reload()
        long.result()
        expected = Robot.from_urdf(path).batch().gravity(q)
        for _ in range(4):
            assert np.array_equal(gravity(client, q), expected)


def test_rate_limit_binds(make, states):
    q, _ = states
    daemon = make("--robot", "chain20", TORQUED_REQUEST_RATE="20")
    with daemon.client() as client:
        refused = 0
        for _ in range(60):
            try:
                gravity(client, q)
            except errors.RequestError as error:
                assert error.code == "rate_limited"
                refused += 1
        assert refused > 0


def test_forked_process_does_not_keep_the_end_of_the_worker_from_its_client(daemon, robot, states):
    q, _ = states
    with daemon.client() as client:
        gravity(client, q)
        leave, stay = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(stay)
            os.read(leave, 1)
            os._exit(0)
        try:
            made_direct(client, q)
            pid = client.stats().worker["pid"]
            os.kill(pid, signal.SIGKILL)
            g = client.batch("dynamics", q=q, v=0.0 * q, want=["g"], timeout=PATIENCE / 2).g
            assert np.array_equal(g, robot.batch().gravity(q))
        finally:
            os.close(stay)
            os.close(leave)
            os.waitpid(child, 0)


def test_end_of_the_daemon_is_told_soon(make, states):
    """As to any other request: that there is none is found out by a ping."""
    q, _ = states
    daemon = make("--robot", "chain20")
    with Client(daemon.endpoint, timeout=0.2, retries=0) as client:
        gravity(client, q)
        gravity(client, q)
        daemon.kill()
        with pytest.raises(TimeoutError, match=r"batch: ping: no reply .* within 0\.2 s"):
            gravity(client, q)


def test_batches_leave_nothing_in_shared_memory(daemon, states):
    """However many clients there are in turn, and whether or not they keep their results."""
    q, _ = states
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(daemon.client()) for _ in range(8)]
        kept = [gravity(client, q + k) for k in range(6) for client in clients]
        assert len(kept) == 48
        pid = clients[0].stats().worker["pid"]
        threads = len(os.listdir(f"/proc/{pid}/task"))
        for k in range(12):
            for client in clients:
                gravity(client, q + k)
        mapped = Path(f"/proc/{pid}/maps").read_text().splitlines()
        files = [line for line in mapped if f"{FOLDER}/{PREFIX}" in line]
        assert files and all(
            line.endswith("(deleted)") for line in files
        )  # their clients have them
        assert len(files) <= MOST_RESULTS + DIRECT_LANES * MOST_KNOWN
        assert len(os.listdir(f"/proc/{pid}/task")) <= threads + 2


class ByHand:
    """A client that has written its pipes itself."""

    def __init__(self, daemon, q, mark=True):
        self.file, self.q = StatesFile(), q
        self.daemon, self.mark = daemon, mark
        self.context = zmq.Context()
        self.socket = self.connected()
        self.memory = True

    def connected(self):
        socket = self.context.socket(zmq.DEALER)
        socket.linger = 0
        socket.connect(self.daemon.endpoint)
        return socket

    def reconnect(self):
        self.socket.close()
        self.socket = self.connected()

    def ask(self, identity):
        """Through the daemon; the reply."""
        told = self.file.direct(self.file.place({"q": self.q}))
        if self.mark:
            self.file.write_late({"q": self.q}, identity)
        else:
            self.file.write({"q": self.q})
            del told["mark"]
        fields = {"operation": "dynamics", "want": ["g"], "memory": self.memory, "states": told}
        self.socket.send(codec.request(identity, "batch", fields))
        reply = self.reply()
        self.memory = reply["memory"]["file"]
        return reply

    def ask_directly(self, data):
        os.write(self.file.requests._writer, data)
        return self.raw_reply()

    def raw_reply(self):
        assert select.select([self.file.replies], [], [], PATIENCE)[0]
        return os.read(self.file.replies, select.PIPE_BUF)

    def reply(self):
        return codec.decode_reply(self.raw_reply())

    def is_let_go(self):
        """Whether nobody reads its requests; of a client that has closed that end itself."""
        poll = select.poll()
        poll.register(self.file.requests._writer, 0)
        return bool(poll.poll(0))

    def close(self):
        self.socket.close()
        self.context.term()
        self.file.close()


@pytest.fixture
def by_hand(daemon, states):
    client = ByHand(daemon, states[0])
    client.number = client.ask(codec.FIRST_ID)["direct"]
    client.file.requests.learn(b"", client.number)  # which closes the other end here
    assert not client.is_let_go()
    yield client
    client.close()


def test_request_is_a_number_and_an_id(by_hand):
    for identity in (0, codec.FIRST_ID + 2, 2**32 - 1):
        by_hand.file.write_late({"q": by_hand.q}, identity)
        reply = codec.decode_reply(by_hand.ask_directly(REQUEST.pack(by_hand.number, identity)))
        assert reply["ok"] and reply["id"] == identity and reply["direct"] == by_hand.number


@pytest.mark.parametrize("identity", [0, 5, 300, 70000, 2**32 - 1, 2**40, "text"])
def test_number_comes_whatever_the_id_of_the_request(daemon, states, identity):
    """Of which replies to direct requests bring back their own."""
    client = ByHand(daemon, states[0], mark=isinstance(identity, int))
    number = client.ask(identity)["direct"]
    client.file.write_late({"q": client.q}, 77)
    reply = codec.decode_reply(client.ask_directly(REQUEST.pack(number, 77)))
    assert (reply["id"], reply["direct"]) == (77, number)
    client.close()


def test_new_numbers_come_whichever_way_a_client_is_connected(daemon, states):
    """Other lanes cannot read its requests, so its batches go to the one that does."""
    q, _ = states
    client = ByHand(daemon, q)
    identities = itertools.count(70000)
    client.ask(next(identities))
    for _ in range(12):
        with daemon.client() as other:  # takes a lane, and leaves it
            gravity(other, q)
        client.reconnect()
        # None where the daemon has not heard yet that the lane is free again.
        number = eventually(lambda: client.ask(next(identities)).get("direct"))
        identity = next(identities)
        client.file.write_late({"q": q}, identity)
        assert codec.decode_reply(client.ask_directly(REQUEST.pack(number, identity)))["ok"]
    client.close()


@pytest.mark.parametrize(
    "number, identity",
    [(0, 70000), (2**64 - 1, 70000), (None, 2**32), (None, 2**64 - 1)],
    ids=["no such batch", "largest", "long id", "longest id"],
)
def test_what_is_not_known_is_given_back(by_hand, number, identity):
    request = REQUEST.pack(by_hand.number if number is None else number, identity)
    by_hand.file.write_late({"q": by_hand.q}, identity)
    assert by_hand.ask_directly(request) == request
    assert by_hand.ask(80000)["ok"]  # and the daemon can be asked


def test_numbers_that_do_not_come_are_not_waited_for(by_hand):
    request = REQUEST.pack(by_hand.number, 90000)
    assert by_hand.ask_directly(request) == request


def test_client_that_goes_on_with_what_is_not_known_is_let_go(by_hand):
    for _ in range(MOST_GIVEN_BACK):
        os.write(by_hand.file.requests._writer, REQUEST.pack(0, 70000))
    eventually(by_hand.is_let_go)


def test_worker_does_not_read_its_own_replies(daemon, states):
    file = StatesFile()
    arrays = {"q": states[0]}
    told = {**file.direct(file.place(arrays)), "request": file.replies}
    with daemon.client() as client, pytest.raises(errors.FieldError, match="are one pipe"):
        client.call("batch", operation="dynamics", want=["g"], states=told)


def test_pipes_that_are_crossed_come_to_an_end(daemon, states):
    """Each of two clients has the replies of the other for its requests."""
    one, other = ByHand(daemon, states[0]), ByHand(daemon, states[0])
    for client, from_whom in ((one, other), (other, one)):
        file = client.file
        os.dup2(from_whom.file.replies, file.requests._reader)
        told = file.direct(file.place({"q": client.q}))
        file.write_late({"q": client.q}, 70000)
        fields = {"operation": "dynamics", "want": ["g"], "memory": True, "states": told}
        client.socket.send(codec.request(70000, "batch", fields))
    with daemon.client() as client:
        pid = client.stats().worker["pid"]
        eventually(lambda: not processor_time_grows(pid))
        made_direct(client, states[0])
    one.close()
    other.close()


def processor_time_grows(pid):
    def ticks():
        with open(f"/proc/{pid}/stat") as stat:
            return sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))

    before = ticks()
    select.select([], [], [], 0.3)
    return ticks() > before + 3


@pytest.mark.parametrize("size", [1, 15, 17, 4096])
def test_junk_harms_nobody_else(daemon, by_hand, robot, states, size):
    q, _ = states
    rng = np.random.default_rng(size)
    with daemon.client() as client:
        made_direct(client, q)
        deaths = client.stats().worker["deaths"]
        for _ in range(20):
            with contextlib.suppress(OSError):
                os.write(by_hand.file.requests._writer, rng.bytes(size))
            assert np.array_equal(gravity(client, q), robot.batch().gravity(q))
        assert client.stats().worker["deaths"] == deaths


def test_piece_of_a_request_ends_the_pipe(by_hand):
    os.write(by_hand.file.requests._writer, b"short")
    eventually(by_hand.is_let_go)


def test_client_that_does_not_read_replies_is_let_go(by_hand):
    fill(by_hand.file._reply)
    os.write(by_hand.file.requests._writer, REQUEST.pack(0, 70000))
    eventually(by_hand.is_let_go)


def test_worker_lets_go_of_clients_that_have_left(daemon, states):
    q, _ = states
    with daemon.client() as client:
        made_direct(client, q)
        pid = client.stats().worker["pid"]
        before = len(os.listdir(f"/proc/{pid}/fd"))
        for _ in range(3 * MOST_CLIENTS):
            with daemon.client() as other:
                asked = Asked(other)
                made_direct(other, q)
                assert asked.batches == 1  # there is room for each
        # Files of those who have left are let go of when the next one comes.
        eventually(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before + 6)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"request": 0}, "is another file"),
        ({"request": "x"}, "request: 'x', expected a whole number"),
        ({"request": 10**6}, "No such file"),
    ],
)
def test_pipe_that_is_none_is_refused(daemon, states, change, words):
    file = StatesFile()
    arrays = {"q": states[0]}
    told = {**file.place(arrays), **change}
    file.write(arrays)
    with daemon.client() as client, pytest.raises(errors.FieldError, match=words) as caught:
        client.call("batch", operation="dynamics", want=["g"], states=told)
    assert caught.value.field == "states"


def test_keys_that_may_be_revoked_are_looked_at_with_each_batch(make, tmp_path, states):
    """Over TCP all requests go through the daemon, even those of a client on the same machine."""
    keys = KeyFolder(tmp_path / "keys")
    keys.new("reader", "read")
    listen = f"tcp://127.0.0.1:{free_port()}"
    daemon = make("--robot", "chain20", "--listen", listen, TORQUED_KEYS=str(keys.folder))
    with (
        daemon.client() as local,
        Client(listen, timeout=PATIENCE, key=keys.folder / "reader.key") as remote,
    ):
        for client, is_direct in ((local, True), (remote, False)):
            file, arrays = StatesFile(), {"q": states[0]}
            told = {**file.direct(file.place(arrays)), "mark": None}
            file.write(arrays)
            fill(file._reply)  # so that replies come through the socket
            memory = True
            for _ in range(3):
                reply = client.call(
                    "batch", operation="dynamics", want=["g"], memory=memory, states=told
                ).as_dict()
                memory = reply["memory"]["file"]
            assert ("direct" in reply) == is_direct


def fill(pipe):
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, bytes(select.PIPE_BUF))


def test_descriptors_are_closed_with_the_file():
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        file = StatesFile()
        file.requests.learn(b"batch", 5)
        file.close()
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_results_that_nobody_fetched_are_gone_with_the_daemon(make, states):
    daemon = make("--robot", "chain20")
    client = ByHand(daemon, states[0])
    client.ask(70000)
    path = Path(FOLDER, client.memory)
    assert path.exists()
    client.close()
    daemon.stop()
    eventually(lambda: not path.exists())
