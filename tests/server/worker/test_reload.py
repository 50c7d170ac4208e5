"""A robot loaded anew, by a daemon in a process of its own."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from support.daemons import DaemonProcess
from support.eventually import PATIENCE, eventually
from support.in_thread import InThread
from support.standstill import standing_still
from torqued.client import Client, errors
from torqued.kernels import Robot
from torqued.server.worker.reload import Reload
from torqued.server.worker.source import Source

pytestmark = pytest.mark.slow

LINK = """
<link name="{name}"><inertial><mass value="{mass}"/><origin xyz="0 0 0.1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """
<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
  <origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""


def urdf(joints, mass=1.0):
    """A chain of that many joints."""
    links = [LINK.format(name=f"l{k}", mass=mass) for k in range(joints + 1)]
    between = [JOINT.format(name=f"j{k}", parent=f"l{k}", child=f"l{k + 1}") for k in range(joints)]
    return f'<robot name="arm">{"".join(links + between)}</robot>'


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A daemon of the file "arm.urdf" beside its folder, with a worker that has started."""
    folder = tmp_path_factory.mktemp("shared") / "sockets"
    folder.mkdir(mode=0o700)
    path = folder.parent / "arm.urdf"
    path.write_text(urdf(2))
    process = DaemonProcess(folder, "arm", "--urdf", str(path)).start()
    yield process
    assert process.stop() == 0


@pytest.fixture
def file(shared):
    path = shared.folder.parent / "arm.urdf"
    path.write_text(urdf(2))
    return path


@pytest.fixture
def daemon(shared, file):
    """One that has loaded a robot of two joints."""
    with shared.client() as client:
        client.reload()
    return shared


def test_changed_file_is_taken_and_the_loop_goes_on(daemon, file):
    with daemon.client() as client:
        before = client.stats().servo
        assert client.hello().nv == 2
        file.write_text(urdf(3, mass=2.0))
        assert client.hello().nv == 2  # until it is told
        assert client.batch("dynamics", q=np.zeros((1, 2)), want=["M"]).M.shape == (1, 2, 2)
        reply = client.reload()
        assert reply.as_dict() == {
            "name": "arm",
            "base": "fixed",
            "nq": 3,
            "nv": 3,
            "warnings": [],
            "restart": [],
        }
        robot = Robot.from_urdf(file)
        q, v = robot.random_state(np.random.default_rng(0))
        hello = client.hello()
        assert (hello.nv, hello.frames) == (3, list(robot.frame_names))
        assert np.array_equal(client.dynamics(q, v).C, robot.coriolis_matrix(q, v))
        assert np.array_equal(client.batch("dynamics", q=[q], v=[v]).C[0], client.dynamics(q, v).C)
        with client.session("gravity", gains={"damping": 0.0}) as session:
            assert np.allclose(session.step(q, v).tau, np.clip(robot.gravity(q), -1.0, 1.0))
        assert client.stats().servo["tick"] > before["tick"]


def test_locked_joints_stay_locked(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(urdf(3))
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o700)
    options = ("--urdf", str(path), "--locked", "j1=0.25")
    daemon = DaemonProcess(folder, "arm", *options).start()
    with daemon.client() as client:
        for mass in (1.0, 2.0):
            path.write_text(urdf(3, mass))
            client.reload()
            robot = Robot.from_urdf(path, locked={"j1": 0.25})
            q, v = robot.random_state(np.random.default_rng(0))
            hello = client.hello()
            assert (hello.joints, hello.locked) == (["j0", "j2"], {"j1": 0.25})
            C = client.dynamics(q, v).C
            assert np.array_equal(C, robot.coriolis_matrix(q, v))
            assert np.allclose(client.batch("dynamics", q=[q], v=[v]).C[0], C, rtol=1e-12)
    assert daemon.stop() == 0
    assert "locked     j1 at 0.25 rad" in daemon.log.read_text().splitlines()


def test_reload_is_refused_while_a_session_is_open(daemon, file):
    with daemon.client() as client:
        done = client.stats().worker["done"]
        session = client.session("gravity", gains={"damping": 0.0})
        file.write_text(urdf(3))
        with pytest.raises(
            errors.OperationError, match=f"sessions are open: {session.number}"
        ) as e:
            client.reload()
        assert e.value.code == "in_use"
        assert session.step([0.1, 0.1], [0.0, 0.0]).status == 0
        assert client.hello().nv == 2
        assert client.stats().worker["done"] == done  # refused before any work
        session.close()
        assert client.reload().nv == 3


def test_session_opened_while_the_robot_is_loaded_keeps_its_robot(daemon, file):
    with daemon.client() as client, daemon.client() as other:
        pid = client.stats().worker["pid"]
        file.write_text(urdf(3))
        with standing_still(pid):
            with pytest.raises(errors.TimeoutError):
                client.reload(timeout=0.2)  # given up, but under way
            eventually(lambda: other.stats().worker["state"] == "busy")
            session = other.session("gravity", gains={"damping": 0.0})
        eventually(lambda: client.stats().worker["state"] == "idle")
        assert session.step([0.1, 0.1], [0.0, 0.0]).status == 0
        assert client.hello().nv == 2
        session.close()


def test_older_reload_that_ends_later_is_dropped():
    jobs, refused = [], []
    daemon = SimpleNamespace(
        source=Source(None, {}),
        servo=SimpleNamespace(require_unused=lambda: None),
        worker=SimpleNamespace(submit=jobs.append),
    )
    pending = SimpleNamespace(client=0, identity=0, refuse=refused.append)
    older, newer = Reload(daemon, pending), Reload(daemon, pending)
    older.begin()
    newer.begin()
    taken = []
    newer._take = older._take = taken.append
    jobs[0].finish({"ok": True}, None)
    assert [str(error) for error in refused] == ["a newer reload has begun meanwhile"]
    assert not taken


def test_abandoned_session_does_not_stand_in_the_way(another, file):
    daemon = another("--urdf", str(file), abandon_after=0.1).start()
    with daemon.client() as gone, daemon.client() as client:
        gone.session("gravity", gains={"damping": 0.0})
        file.write_text(urdf(3))

        def is_reloaded():
            try:
                return client.reload().nv == 3
            except errors.OperationError as error:
                assert error.code == "in_use"
                return False

        eventually(is_reloaded)
        assert client.call("sessions", client.control_endpoint).sessions == []


def test_file_with_faults_gives_all_of_them_and_the_robot_stays(daemon, file):
    good = file.read_text()
    faulty = "".join(LINK.format(name=f"loose{k}", mass=-1.0) for k in range(50))
    with daemon.client() as client:
        deaths = client.stats().worker["deaths"]
        for text, words in [
            (good.replace("</robot>", f"{faulty}</robot>"), [f"loose{k}" for k in range(50)]),
            (good.replace('upper="1"', 'upper="-2"'), ["j0", "j1", "upper"]),
            ("<robot", ["arm.urdf"]),
            ("\0", ["arm.urdf"]),
        ]:
            file.write_text(text)
            with pytest.raises(errors.ModelError) as caught:
                client.reload()
            assert caught.value.code == "bad_model"
            assert all(word in str(caught.value) for word in words)
            assert client.hello().nv == 2
        file.unlink()
        with pytest.raises(errors.ModelError, match="no such file"):
            client.reload()
        assert client.dynamics([0.1, 0.2], [0.0, 0.0]).M.shape == (2, 2)
        assert client.batch("dynamics", q=[[0.1, 0.2]], want=["M"]).M.shape == (1, 2, 2)
        assert client.stats().worker["deaths"] == deaths
        file.write_text(urdf(4))
        assert client.reload().nv == 4


def test_changed_configuration_is_taken_as_far_as_it_can_be(another, tmp_path):
    config = tmp_path / "arm.toml"
    config.write_text('[robot]\nfamily = "chain"\ndofs = 2\n')
    daemon = another("--config", str(config)).start()
    with daemon.client() as client:
        config.write_text('rate = 500\nhold = 0.5\n[robot]\nfamily = "chain"\ndofs = 5\n')
        reply = client.reload()
        assert (reply.nv, reply.restart) == (5, ["rate", "hold"])
        assert client.hello().rate == 1000.0
        config.write_text('speed = 1\n[robot]\nfamily = "chain"\ndofs = 0\n')
        with pytest.raises(errors.ModelError) as caught:
            client.reload()
        assert "2 problems" in str(caught.value)
        assert client.hello().nv == 5


def test_worker_killed_while_it_loads_is_reported(daemon):
    with daemon.client() as client:
        worker = client.stats().worker
        with standing_still(worker["pid"]):
            with pytest.raises(errors.TimeoutError):
                client.reload(timeout=0.1)
            eventually(lambda: client.stats().worker["state"] == "busy")
            os.kill(worker["pid"], signal.SIGKILL)
        eventually(lambda: client.stats().worker["deaths"] == worker["deaths"] + 1)
        assert client.reload().nv == 2


def test_command_tells_what_was_loaded(daemon, file):
    def torqued(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "torqued.tools.cli.main", *arguments],
            capture_output=True,
            text=True,
            timeout=600,
            env=os.environ | {"TORQUED_FOLDER": str(daemon.folder)},
        )

    with daemon.client() as client:
        worker = client.stats().worker
    file.write_text(urdf(3))
    assert torqued("reload").stdout == "arm: fixed base, 3 degrees of freedom\n"
    assert '"nv": 3' in torqued("call", "reload", "--json").stdout
    file.write_text("<robot")
    failed = torqued("reload")
    assert failed.returncode == 2
    assert failed.stderr.startswith(f"torqued: error: {file}: 1 problem")
    done, failed = worker["done"] + 2, worker["failed"] + 1
    assert f"worker: idle, 0 jobs waiting, {done} done, {failed} failed" in torqued("stats").stdout


def test_robot_without_a_file_cannot_be_loaded_anew(folder):
    robot = Robot.family("chain", 2)
    with (
        InThread(robot, folder) as daemon,
        Client(daemon.endpoint, timeout=PATIENCE) as client,
        pytest.raises(errors.ModelError, match="does not come from a file"),
    ):
        client.reload()
