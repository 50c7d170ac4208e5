"""The worker of a daemon in a process of its own: batches beside everything else, and its death."""

import asyncio
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from support.agreement import assert_agree
from support.eventually import PATIENCE, eventually
from support.in_thread import InThread
from support.standstill import standing_still
from torqued.client import AsyncClient, Client, errors
from torqued.kernels import Robot
from torqued.server.worker.jobs import MAX_JOBS, MAX_OF_ONE
from torqued.server.worker.model_bytes import pack, unpack
from torqued.server.worker.process import OOM_SCORE_ADJ
from torqued.server.worker.worker import THREADS

pytestmark = pytest.mark.slow

NV = 20
#: Of the largest entry: a batch adds in another order.
ROUNDING = 1e-12


@pytest.fixture
def fresh(another):
    """A daemon whose worker has done nothing, and that may be ended."""
    return another("--robot", "chain20").start()


class Asking:
    """A batch that is under way in a thread of its own."""

    def __init__(self, daemon, *args, **fields):
        self.reply = self.error = None

        def ask():
            try:
                with Client(daemon.endpoint, timeout=PATIENCE) as client:
                    self.reply = client.batch(*args, **fields)
            except errors.TorquedError as error:
                self.error = error

        self.thread = threading.Thread(target=ask)
        self.thread.start()

    def wait(self):
        self.thread.join()
        return self


def is_alive(pid):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def idle_worker(client, states):
    """The process id of the worker, which has done something before."""
    client.batch("dynamics", q=states[0][:2], want=["g"])
    eventually(lambda: client.stats().worker["threads"] == THREADS)  # the others come by themselves
    eventually(lambda: client.stats().worker["state"] == "idle")
    return client.stats().worker["pid"]


def one_waits(client):
    """Whether all threads are busy and one job waits, as each does before a thread has it."""
    worker = client.stats().worker
    return worker["queued"] == 1 and len(worker["jobs"]) == THREADS


def test_batch_equals_single_requests_but_for_rounding(fresh, states):
    q, v = states
    with fresh.client() as client:
        assert client.stats().worker["state"] == "absent"
        many = client.batch("dynamics", q=q, v=v, want=["M", "C", "g"])
        torques = client.batch("inverse_dynamics", q=q, v=v, a=v)
        for k in range(len(q)):
            single = client.dynamics(q[k], v[k], want=["M", "C", "g"])
            for name in ("M", "C", "g"):
                assert_agree(many[name][k], single[name], ROUNDING)
            assert_agree(torques.tau[k], client.inverse_dynamics(q[k], v[k], v[k]), ROUNDING)
        eventually(lambda: client.stats().worker["done"] == 2)  # a client may know before
        worker = client.stats().worker
        assert (worker["state"], worker["failed"]) == ("idle", 0)
        assert (worker["deaths"], worker["queued"], worker["job"]) == (0, 0, None)


def test_other_requests_are_answered_while_a_batch_is_under_way(daemon, robot, states):
    q, v = states
    with daemon.client() as client:
        pid = idle_worker(client, states)
        with standing_still(pid):
            asking = Asking(daemon, "dynamics", q=q, v=v, want=["g"])
            others = [Asking(daemon, "dynamics", q=q, v=v, want=["g"]) for _ in range(THREADS)]
            eventually(lambda: one_waits(client))
            assert client.stats().worker["job"]["operation"] == "batch of dynamics"
            for k in range(20):
                assert np.array_equal(client.dynamics(q[k], want=["g"]).g, robot.gravity(q[k]))
            with client.session("gravity", gains={"damping": 0.0}) as session:
                assert session.step(q[0], v[0]).status == 0
            assert asking.thread.is_alive()
        g = np.array([robot.gravity(row) for row in q])
        for asked in (asking, *others):
            assert_agree(asked.wait().reply.g, g, ROUNDING)


def test_short_batch_does_not_wait_for_the_end_of_a_long_one(daemon, robot, states):
    """Both threads compute; neither waits for the other."""
    q = np.tile(states[0], (100, 1))
    given = {"q": q, "b": q, "coordinates": "pinocchio"}  # computed one by one
    with daemon.client() as client:
        idle_worker(client, states)

        def is_done_before():
            """A busy machine may be through with the long one first."""
            long = Asking(daemon, "solve_mass", timeout=600.0, **given)
            eventually(lambda: client.stats().worker["jobs"] or not long.thread.is_alive())
            short = client.batch("dynamics", q=states[0], want=["g"])
            is_under_way = long.thread.is_alive()
            assert_agree(short.g, [robot.gravity(row) for row in states[0]], ROUNDING)
            assert_agree(long.wait().reply.x[:3], [robot.solve_mass(x, x) for x in q[:3]], 1e-9)
            return is_under_way

        eventually(is_done_before)


def test_batches_beside_each_other_do_not_mix(daemon, robot, states):
    q, v = states
    g = np.array([robot.gravity(row) for row in q])

    def several(k):
        order = np.random.default_rng(k).permutation(len(q))
        with daemon.client() as client:
            for _ in range(5):
                reply = client.batch("dynamics", q=q[order], v=v[order], want=["M", "g"])
                assert_agree(reply.g, g[order], ROUNDING)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(several, range(THREADS)))


def test_progress_of_a_batch_is_in_the_statistics(daemon, states):
    q = np.tile(states[0], (100, 1))
    with daemon.client() as client:
        idle_worker(client, states)
        seen = set()

        def is_seen_in_between():
            asking = Asking(daemon, "solve_mass", q=q, b=q, coordinates="pinocchio")
            while asking.thread.is_alive():
                job = client.stats().worker["job"]
                if job:
                    assert job["total"] in (0, len(q))  # 0 before the first report
                    seen.add(job["done"])
            assert asking.wait().reply.x.shape == q.shape
            return any(0 < done < len(q) for done in seen)

        eventually(is_seen_in_between)


def test_killed_worker_is_reported_and_replaced(daemon, robot, states):
    q, _ = states
    with daemon.client() as client:
        pid = idle_worker(client, states)
        before = client.stats().worker
        with standing_still(pid):
            asked = [Asking(daemon, "dynamics", q=q, want=["g"]) for _ in range(THREADS + 1)]
            eventually(lambda: one_waits(client))
            os.kill(pid, signal.SIGKILL)
        outcomes = [asking.wait() for asking in asked]  # those that came first were under way
        failures = [outcome.error for outcome in outcomes if outcome.error]
        assert len(failures) == THREADS
        for failed in failures:
            assert isinstance(failed, errors.InternalError)
            assert str(failed) == (
                "the worker died (signal 9) during this batch of dynamics; a new one starts"
            )
        (reply,) = [outcome.reply for outcome in outcomes if outcome.reply]
        assert_agree(reply.g, [robot.gravity(row) for row in q], ROUNDING)
        worker = client.stats().worker
        assert worker["deaths"] == before["deaths"] + 1
        assert worker["failed"] == before["failed"] + THREADS
        eventually(lambda: client.stats().worker["done"] == before["done"] + 1)
        assert worker["pid"] != pid


def test_worker_killed_while_idle_is_replaced(daemon, states):
    with daemon.client() as client:
        pid = idle_worker(client, states)
        deaths = client.stats().worker["deaths"]
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: client.stats().worker["deaths"] == deaths + 1)
        assert idle_worker(client, states) not in (pid, None)


def test_worker_stands_back_from_the_loop(daemon, states):
    with daemon.client() as client:
        pid = idle_worker(client, states)
        assert os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)
        assert os.sched_getscheduler(pid) == os.SCHED_OTHER
        assert int(Path(f"/proc/{pid}/oom_score_adj").read_text()) == OOM_SCORE_ADJ


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_worker_ends_with_the_daemon(fresh, states, number):
    with fresh.client() as client:
        pid = idle_worker(client, states)
        fresh.signal(number)
        fresh.wait()
        eventually(lambda: not is_alive(pid))
    if number == signal.SIGKILL:
        fresh.start()  # takes away what is left


def test_batch_under_way_when_the_daemon_stops_is_told_so(fresh, states):
    q, _ = states
    with fresh.client() as client:
        pid = idle_worker(client, states)
        with standing_still(pid):
            asked = [Asking(fresh, "dynamics", q=q, want=["g"]) for _ in range(THREADS + 1)]
            eventually(lambda: one_waits(client))
            assert fresh.stop() == 0
        for asking in asked:
            assert asking.wait().error.code == "stopping"
        assert not is_alive(pid)


def test_more_jobs_than_may_wait_are_refused(daemon, states):
    q = states[0][:1]
    with daemon.client() as client:
        pid = idle_worker(client, states)
        with standing_still(pid):
            count = MAX_JOBS + THREADS
            waiting = [Asking(daemon, "dynamics", q=q, want=["g"]) for _ in range(count)]
            eventually(lambda: client.stats().worker["queued"] == MAX_JOBS)
            with pytest.raises(errors.OperationError) as caught:
                client.batch("dynamics", q=q, want=["g"])
            assert caught.value.code == "busy"
        assert all(asking.wait().reply.g.shape == (1, NV) for asking in waiting)


def test_greedy_client_leaves_places_for_others(daemon, states):
    q = states[0][:1]

    async def ask_for_too_many(greedy, client, pid):
        with standing_still(pid):
            asked = [
                asyncio.ensure_future(greedy.batch("dynamics", q=q, want=["g"]))
                for _ in range(THREADS + MAX_OF_ONE)
            ]
            await asyncio.to_thread(
                eventually, lambda: client.stats().worker["queued"] == MAX_OF_ONE
            )
            with pytest.raises(errors.OperationError, match="of this client") as caught:
                await greedy.batch("dynamics", q=q, want=["g"])
            assert caught.value.code == "busy"
            other = Asking(daemon, "dynamics", q=q, want=["g"])
            await asyncio.to_thread(
                eventually, lambda: client.stats().worker["queued"] == MAX_OF_ONE + 1
            )
        assert (await asyncio.to_thread(other.wait)).reply.g.shape == (1, NV)
        assert all(reply.g.shape == (1, NV) for reply in await asyncio.gather(*asked))

    async def run(client, pid):
        async with AsyncClient(client.endpoint, timeout=PATIENCE) as greedy:
            await ask_for_too_many(greedy, client, pid)

    with daemon.client() as client:
        asyncio.run(run(client, idle_worker(client, states)))


def test_errors_of_batches_are_those_of_the_wire(daemon, states):
    q, v = states
    wrong = q.copy()
    wrong[17, 3] = np.inf
    with daemon.client() as client:
        worker = client.stats().worker
        failed, deaths = worker["failed"], worker["deaths"]
        for fields, code in [
            ({"operation": "dynamics"}, "missing_field"),
            ({"q": q}, "missing_field"),
            ({"operation": "dynamics", "q": q, "x": 1}, "unknown_field"),
            ({"operation": "dynamics", "q": q, "dt": 1}, "unknown_field"),
            ({"operation": "hello", "q": q}, "bad_field"),
            ({"operation": "dynamics", "q": wrong}, "bad_field"),
            ({"operation": "inverse_dynamics", "q": q, "a": v}, "missing_field"),
            ({"operation": "dynamics", "q": np.tile(q, (2, 1)), "want": ["Gamma"]}, "too_large"),
        ]:
            with pytest.raises(errors.RequestError) as caught:
                client.call("batch", **fields)
            assert caught.value.code == code
        with pytest.raises(errors.FieldError, match=r"^state 17: q\[3\] is inf") as caught:
            client.batch("dynamics", q=wrong, v=v)
        assert caught.value.state == 17
        for operation, fields in [
            ("dynamics", {"q": q[:, :3], "want": ["g"]}),
            ("derivatives", {"q": q, "of": "inverse_dynamics"}),
        ]:
            with pytest.raises(errors.FieldError, match=r"^(?!state)") as caught:
                client.call("batch", operation=operation, **fields)
            assert caught.value.field in ("q", "v")
            assert caught.value.state is None  # all of them are wrong
        worker = client.stats().worker
        assert worker["deaths"] == deaths
        assert worker["failed"] == failed + 4  # the others never came to the worker
        assert client.batch("dynamics", q=q, v=v).M.shape == (len(q), NV, NV)


@pytest.mark.parametrize(
    "program, words",
    [("/bin/false", r"died while starting \(exit code 1\)"), ("/no/such/program", "No such file")],
)
def test_worker_that_cannot_start_is_reported(folder, robot, states, monkeypatch, program, words):
    monkeypatch.setattr("sys.executable", program)
    with InThread(robot, folder) as daemon, Client(daemon.endpoint, timeout=PATIENCE) as client:
        for _ in range(2):
            with pytest.raises(errors.InternalError, match=words):
                client.batch("dynamics", q=states[0], want=["g"])
        assert client.hello().nv == NV
        monkeypatch.undo()
        assert client.batch("dynamics", q=states[0], want=["g"]).g.shape == (200, NV)


def test_worker_that_lives_is_not_given_up(folder, robot, states):
    """As where its lifeline has the number that a file of the worker before it had."""
    with InThread(robot, folder) as daemon, daemon.client() as client:
        pid = idle_worker(client, states)
        daemon.daemon.events.hand_over(daemon.daemon.worker._on_death)
        assert idle_worker(client, states) == pid
        assert client.stats().worker["deaths"] == 0


@pytest.mark.parametrize(
    "load",
    [
        lambda: Robot.named("panda"),
        lambda: Robot.named("panda", locked=()),
        lambda: Robot.family("quadruped", 20),
        lambda: Robot.load(
            "chain3",
            capsules=[{"frame": "link_1", "radius": 0.1}],
            postures={"up": {"joint_2": 0.1}},
            tool={"frame": "link_3", "mass": 1.0},
        ),
    ],
)
def test_model_survives_the_way_to_the_worker(load):
    robot = load()
    other = Robot(unpack(pack(robot.model)))
    assert pack(other.model) == pack(robot.model)
    assert other.frame_names == robot.frame_names
    assert other.postures == robot.postures and other.model.source == robot.model.source
    assert other.model.as_described == robot.model.as_described
    assert (other.joint_names, other.locked) == (robot.joint_names, robot.locked)
    q, v = robot.random_state(np.random.default_rng(1))
    want, frames = ("M", "C", "g", "J", "pose"), robot.frame_names[-1:]
    here, there = robot.dynamics(q, v, want, frames), other.dynamics(q, v, want, frames)
    assert all(np.array_equal(here[word], there[word]) for word in ("M", "C", "g"))
    assert np.array_equal(here["J"][frames[0]], there["J"][frames[0]])
