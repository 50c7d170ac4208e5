"""The page of a robot on legs: its forces, its names, and a session that is just beginning."""

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.server.observation.layout import LOOP_TICK, TICK_HEAD
from torqued.tools.recording.session_layout import session_info
from torqued.tools.viewers.dash import Dash
from torqued.tools.viewers.history import History
from torqued.tools.viewers.panels import session_html
from torqued.tools.viewers.scene import WEIGHT
from torqued.tools.viewers.shapes import capsules

#: m, half sides of a sole.
SOLE = (0.1, 0.06)
NO_LOOP = np.zeros(0, LOOP_TICK)


@pytest.fixture(scope="module")
def robot():
    return Robot.family("biped", 6)


@pytest.fixture
def info(robot):
    """A session of `wholebody`: no storage, an error of two numbers for each task."""
    offset = TICK_HEAD.itemsize

    def part(name, unit, *shape):
        nonlocal offset
        here, offset = offset, offset + 8 * int(np.prod(shape))
        return {"name": name, "shape": list(shape), "offset": here, "unit": unit}

    foot = robot.frame_names[-1]
    return session_info(
        {
            "session": 3,
            "law": "wholebody",
            "client": "local",
            "opened": 0.0,
            "closed": None,
            "gains": {},
            "state": [part("q", "rad", robot.nq), part("v", "rad/s", robot.nv)],
            "references": [],
            "outputs": [
                part("tau", "N m", robot.nv),
                part("force", "N", 4, 3),
                part("error", "rad, m", 2, 2),
            ],
            "record_bytes": offset,
            "effort_limit": [None] * 6 + [10.0] * (robot.nv - 6),
            "options": {
                "contacts": [{"frame": foot, "half_size": list(SOLE)}],
                "tasks": [{"kind": "com"}, {"kind": "posture", "name": "legs"}],
            },
        }
    )


@pytest.fixture
def described(robot):
    return {
        "joints": list(robot.joint_names),
        "base": "floating",
        "limits": {"effort": [None] * robot.nv},
    }


@pytest.fixture
def dash(robot, described):
    page = Dash("test", robot, capsules(robot), History(described), "127.0.0.1", 0)
    yield page
    page.close()


def ticks(robot, info, count, height=1.0):
    """Standing, with half of the weight on each of the corners ahead."""
    rows = np.zeros(count, info.dtype)
    rows["time"] = np.arange(count) * 100_000_000
    rows["q"] = robot.neutral()
    rows["q"][:, 2] = height
    rows["error"] = [[0.0, 0.3], [0.7, 0.0]]
    rows["tau"][:, 6:] = 5.0
    weight = robot.total_mass * np.linalg.norm(robot.gravity_vector)
    rows["force"][:, :2, 2] = 0.5 * weight
    return rows


def test_forces_are_arrows_from_the_corners_that_carry(robot, info, dash):
    rows = ticks(robot, info, 3)
    dash.history.add({3: info}, {3: rows}, NO_LOOP)
    dash.plots()
    dash.picture()
    (arrows,) = dash.scene._drawn.values()
    pose = robot.frame_pose(rows["q"][-1], robot.frame_names[-1])
    corners = np.array([[SOLE[0], y, 0.0] for y in (SOLE[1], -SOLE[1])])
    assert arrows.points.shape == (2, 2, 3) and arrows.visible
    assert np.allclose(arrows.points[:, 0], corners @ pose[:3, :3].T + pose[:3, 3], atol=1e-6)
    lengths = np.linalg.norm(arrows.points[:, 1] - arrows.points[:, 0], axis=1)
    assert np.allclose(lengths, 0.5 * WEIGHT * dash.scene._size, rtol=1e-5)
    rows["force"] = 0.0
    dash.history.add({3: info}, {3: rows}, NO_LOOP)
    dash.picture()
    assert not arrows.visible


def test_law_without_storage_has_its_other_curves(robot, info, dash):
    dash.history.add({3: info}, {3: ticks(robot, info, 3)}, NO_LOOP)
    dash.plots()
    labels = {
        title: [series["label"] for series in plot._handle.series[1:]]
        for title, plot in dash.panels._plots.items()
    }
    assert labels["errors"] == ["com", "legs turn"]  # those that are not zero
    assert labels["storage and dissipation"] == ["nothing to draw"]
    assert len(labels["torques"]) == 8  # the largest ones
    assert dash.panels._plots["errors"]._handle.title == "errors, mrad, mm"


def test_joints_have_bars_and_a_free_base_has_none(robot, info, described):
    history = History(described)
    history.add({3: info}, {3: ticks(robot, info, 1)}, NO_LOOP)
    text = session_html(history.tracks[3], described)
    assert text.count("5.00 of 10") == robot.nv - 6
    assert all(name in text for name in robot.joint_names[1:])
    assert "base" not in text and robot.joint_names[0] not in text


def test_session_without_a_state_yet_moves_nothing(robot, info, dash):
    """Its q is all zeros, and no orientation."""
    rows = ticks(robot, info, 1)
    rows["sequence"], rows["q"] = -1, 0.0
    dash.history.add({3: info}, {3: rows}, NO_LOOP)
    dash.plots()
    dash.picture()
    before = dash.server.initial_camera.look_at.copy()
    dash.history.add({3: info}, {3: ticks(robot, info, 1, height=5.0)}, NO_LOOP)
    dash.picture()
    assert dash.server.initial_camera.look_at[2] == pytest.approx(before[2] + 5.0)
    dash.history.add({3: info}, {3: ticks(robot, info, 1, height=9.0)}, NO_LOOP)
    dash.picture()
    assert dash.server.initial_camera.look_at[2] == pytest.approx(before[2] + 5.0)  # once
