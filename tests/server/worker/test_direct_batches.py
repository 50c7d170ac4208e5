"""Batches that come again are asked of the worker itself; whatever becomes of it or its client."""

import contextlib
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from direct_asking import Asked, gravity, made_direct
from eventually import PATIENCE, eventually
from standstill import standing_still

from torqued.client import Client, TimeoutError, errors
from torqued.client.shared_memory import FOLDER, PREFIX
from torqued.client.shared_states import StatesFile
from torqued.kernels import Robot
from torqued.server.requests.shared_results import MAX_KEPT as MAX_RESULTS
from torqued.server.worker.direct_requests import MAX_CLIENTS
from torqued.server.worker.direct_serving import MAX_KNOWN
from torqued.server.worker.worker import DIRECT_LANES

pytestmark = pytest.mark.slow


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
            stack.enter_context(daemon.client()) for _ in range(DIRECT_LANES * MAX_CLIENTS + 3)
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
    with Client(daemon.endpoint, timeout=PATIENCE, retries=0) as client:
        made_direct(client, q)
        daemon.kill()
        client.timeout = 0.2
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
        assert len(files) <= MAX_RESULTS + DIRECT_LANES * MAX_KNOWN
        assert len(os.listdir(f"/proc/{pid}/task")) <= threads + 2


def test_worker_lets_go_of_clients_that_have_left(daemon, states):
    q, _ = states
    with daemon.client() as client:
        made_direct(client, q)
        pid = client.stats().worker["pid"]
        before = len(os.listdir(f"/proc/{pid}/fd"))
        for _ in range(3 * MAX_CLIENTS):
            with daemon.client() as other:
                asked = Asked(other)
                made_direct(other, q)
                assert asked.batches == 1  # there is room for each
        # Files of those who have left are let go of when the next one comes.
        eventually(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before + 6)


def test_descriptors_are_closed_with_the_file():
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        file = StatesFile()
        file.requests.learn(b"batch", 5)
        file.close()
    assert len(os.listdir("/proc/self/fd")) == len(before)
