"""What a page shows, without a browser: shapes, history, words."""

import numpy as np
import pytest
import trimesh

from support.written_sessions import NO_LOOP, ROBOT, session, ticks
from torqued.common.status import CLAMPED, FALLBACK, LIMITED_REFERENCE, OK, STALE, STOPPED, WALL
from torqued.kernels import Robot
from torqued.server.observation.layout import FALLEN, LOOP_TICK
from torqued.tools.recording.session_layout import joints_of, titles, without_common_prefix
from torqued.tools.recording.status_colors import ALARM, GOOD, NOTICE
from torqued.tools.viewers.following import frame_poses
from torqued.tools.viewers.history import EDGES, MAX_POINTS, SPAN, History, stairs
from torqued.tools.viewers.panels import (
    MAX_MISSING,
    bar_html,
    log_html,
    loop_words,
    missing_html,
    plot_title,
    rounded,
    session_html,
)
from torqued.tools.viewers.shapes import capsules, find_mesh, frames_of_bodies, shapes_of

BOXES = """
<robot name="boxes">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"/>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 0.5"/><geometry><box size="0.1 0.2 1"/></geometry>
      <material name="red"/></visual>
    <visual><geometry><mesh filename="{mesh}"/></geometry></visual>
  </link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
</robot>"""


class TestShapes:
    def test_boxes_and_meshes_move_with_their_links(self, tmp_path):
        trimesh.creation.icosphere(radius=0.3).export(tmp_path / "ball.stl")
        text = BOXES.format(mesh="ball.stl")
        (tmp_path / "robot.urdf").write_text(text)
        robot = Robot.from_urdf(tmp_path / "robot.urdf")
        (box, ball), missing = shapes_of(robot, text, tmp_path / "robot.urdf")
        assert not missing
        assert (box.frame, ball.frame) == ("arm", "arm")
        assert np.allclose(box.mesh.extents, [0.1, 0.2, 1.0])
        assert np.allclose(box.pose[:3, 3], [0, 0, 0.5])
        assert box.mesh.visual.material.main_color.tolist() == [255, 0, 0, 255]
        assert np.allclose(ball.mesh.extents, 0.6, atol=0.02)

    def test_mesh_that_is_missing_is_named_once(self, tmp_path, caplog):
        """In the log and on the page; the rest of the robot is drawn."""
        text = BOXES.format(mesh="package://nowhere/x.dae")
        text = text.replace(
            "</link>", text[text.rindex("<visual>") : text.index("</link>")] + "</link>"
        )
        assert text.count("x.dae") == 2
        (tmp_path / "robot.urdf").write_text(text)
        robot = Robot.from_urdf(tmp_path / "robot.urdf")
        shapes, missing = shapes_of(robot, text, tmp_path / "robot.urdf")
        assert len(shapes) == 1
        assert missing == caplog.messages == ["mesh package://nowhere/x.dae is not found"]

    def test_mesh_that_cannot_be_read_is_named(self, tmp_path):
        (tmp_path / "x.dae").write_text("nonsense")
        text = BOXES.format(mesh="x.dae")
        (tmp_path / "robot.urdf").write_text(text)
        robot = Robot.from_urdf(tmp_path / "robot.urdf")
        shapes, (words,) = shapes_of(robot, text, tmp_path / "robot.urdf")
        assert len(shapes) == 1 and words.startswith(f"mesh {tmp_path / 'x.dae'} cannot be read: ")

    def test_page_lists_what_is_missing_up_to_some_lines(self):
        text = missing_html([f"mesh <{k}> is not found" for k in range(MAX_MISSING + 2)])
        assert text.count("is not found") == MAX_MISSING and "and 2 more" in text
        assert "&lt;0&gt;" in text and "more" not in missing_html(["mesh x is not found"])

    def test_packages_are_found_above_the_urdf_and_on_the_ros_path(self, tmp_path, monkeypatch):
        mesh = tmp_path / "ws" / "my_robot" / "meshes" / "a.stl"
        mesh.parent.mkdir(parents=True)
        mesh.touch()
        urdf = tmp_path / "ws" / "my_robot" / "urdf" / "a.urdf"
        assert find_mesh("package://my_robot/meshes/a.stl", urdf) == mesh
        assert find_mesh("package://my_robot/meshes/a.stl", None) is None
        monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ws"))
        assert find_mesh("package://my_robot/meshes/a.stl", None) == mesh
        assert find_mesh(f"file://{mesh}", None) == mesh

    @pytest.mark.parametrize("family", ["chain", "tree", "biped"])
    def test_capsules_join_the_bodies(self, family):
        robot = Robot.family(family, 6)
        poses = frame_poses(robot, robot.neutral())
        found = capsules(robot)
        floating = robot.model.base == "floating"
        assert len(found) == len(robot.model.bodies) - floating
        for shape in found:
            assert shape.frame == "" or shape.frame in poses
            assert np.isfinite(shape.mesh.vertices).all() and len(shape.mesh.faces)

    def test_capsule_reaches_from_its_body_to_the_next(self):
        robot = Robot.family("chain", 3)
        q = robot.neutral()
        names = frames_of_bodies(robot)
        for shape, body in zip(capsules(robot)[1:], (0, 1), strict=True):
            ends = [robot.frame_pose(q, names[body + k])[:3, 3] for k in (0, 1)]
            moved = shape.mesh.copy()
            moved.apply_transform(robot.frame_pose(q, names[body]) @ shape.pose)
            assert moved.contains(np.array(ends)).all()
            assert np.allclose(moved.centroid, np.mean(ends, axis=0), atol=1e-6)

    def test_real_robots_have_all_their_meshes(self):
        from torqued.kernels.model import catalog

        path = catalog.find_file("panda")
        shapes, missing = shapes_of(Robot.named("panda"), path.read_text(), path)
        assert {f"panda_link{k}" for k in range(8)} <= {shape.frame for shape in shapes}
        assert not missing


class TestHistory:
    def test_ticks_are_thinned_out_and_errors_are_state_minus_reference(self):
        info, history = session(), History(ROBOT)
        history.add({7: info}, {7: ticks(info, np.arange(0, 2 * SPAN, 1e-3))}, NO_LOOP)
        track = history.tracks[7]
        assert 0.9 * MAX_POINTS < np.sum(track.times() > -SPAN) <= MAX_POINTS + 1
        assert np.allclose(track.series("error"), -0.2) and track.unit("error") == "rad"
        assert track.series("tau").shape == (len(track.kept), 2)
        assert track.series("storage").shape[1] == 0
        assert track.limits.tolist() == [10.0, np.inf]

    def test_status_bits_are_told_when_they_come(self):
        info, history = session(), History(ROBOT)
        history.add({7: info}, {7: ticks(info, [0.0, 0.1])}, NO_LOOP)
        both = CLAMPED | LIMITED_REFERENCE
        history.add({7: info}, {7: ticks(info, [0.2, 0.3], both)}, NO_LOOP)
        history.add({7: info}, {7: ticks(info, [0.4], both | STALE)}, NO_LOOP)
        words = [event.words for event in history.events]
        assert words == ["opened by <me>", "clamped", "stale"]

    def test_what_comes_again_and_again_is_one_line(self):
        info, history = session(), History(ROBOT)
        for k in range(20):
            history.add({7: info}, {7: ticks(info, [0.1 * k], CLAMPED if k % 2 else OK)}, NO_LOOP)
        assert [event.words for event in history.events] == ["opened by <me>", "clamped"]
        assert history.events[-1].times == 10 and "clamped ×10" in log_html(history)
        history.add({7: info}, {7: ticks(info, [60.0], OK)}, NO_LOOP)
        history.add({7: info}, {7: ticks(info, [61.0], CLAMPED)}, NO_LOOP)
        assert len(history.events) == 3  # long after

    def test_sessions_that_end_go_away(self):
        info, history = session(), History(ROBOT)
        history.add({7: info}, {7: ticks(info, [0.0])}, NO_LOOP)
        history.add({7: session(closed=1.0)}, {}, NO_LOOP)
        assert not history.tracks and history.events[-1].words == "closed"

    def test_times_of_the_loop(self):
        history, loop = History(ROBOT), np.zeros(3, LOOP_TICK)
        loop["time"], loop["deadline"], loop["compute"] = 5000, 2000, 7000
        history.add({}, {}, loop)
        assert list(history.lateness) == [3.0] * 3 and list(history.compute) == [7.0] * 3
        loop["deadline"] = [0, 500_000, 1_000_000]
        history.add({}, {}, loop)
        assert history.period == 500.0


class TestStairs:
    def test_all_values_are_in_a_bin_of_their_size(self):
        corners, shares, _ = stairs([3.0] * 3 + [50.0], 1000.0)
        assert np.all(np.diff(corners) >= 0.0)
        inside = (corners[::2] <= 3.0) & (corners[1::2] > 3.0)
        assert shares[::2][inside].tolist() == [75.0] == shares[1::2][inside].tolist()
        assert sum(set(shares.tolist())) == 100.0

    def test_what_is_beyond_the_limit_begins_there_and_is_as_high_as_the_rest(self):
        corners, shares, beyond = stairs([3.0], 700.0)
        assert corners[beyond > 0.0].min() == 700.0 == corners[beyond == 0.0].max()
        assert set(beyond.tolist()) == {0.0, shares.max()}

    @pytest.mark.parametrize("values", [[], [0.0, 1e9]])
    def test_numbers_can_be_drawn_whatever_comes(self, values):
        """A browser draws nothing of a plot with a NaN in it."""
        corners, shares, beyond = stairs(values, 1000.0)
        assert len(corners) == len(shares) == len(beyond)
        assert np.isfinite([*corners, *shares, *beyond]).all() and beyond.max() > 0.0
        heights = shares[::2]
        assert heights.sum() == (100.0 if values else 0.0)  # none is left out
        assert (heights[[0, -1]] > 0.0).all() == bool(values)
        assert (corners[0], corners[-1]) == (EDGES[0], EDGES[-1])


def test_loop_is_told_against_period_and_budget():
    history, loop = History(ROBOT), np.zeros(4, LOOP_TICK)
    loop["deadline"] = np.arange(4) * 1_000_000
    loop["time"] = loop["deadline"] + [10_000, 10_000, 10_000, 1_500_000]
    loop["compute"] = 20_000
    history.add({}, {}, loop)
    period, lateness, compute = loop_words(history)
    assert period == "period 1000 µs; sessions may compute for 70 % of it"
    assert lateness.startswith("lateness: p50 10 µs") and "1 of 4 ticks beyond 1000" in lateness
    assert compute == "compute: p50 20 µs, p99 20 µs, none of 4 ticks beyond 700 µs"


def test_plots_are_titled_with_units():
    info, history = session(), History(ROBOT)
    history.add({7: info}, {7: ticks(info, [0.0])}, NO_LOOP)
    track = history.tracks[7]
    assert plot_title("torques", ("tau",), track) == "torques, N m"
    assert plot_title("errors", ("error",), track) == "errors, rad"
    assert plot_title("energies", ("storage", "dissipation"), track) == "energies"
    assert plot_title("torques", ("tau",), None, "m") == "torques"
    assert plot_title("errors", ("error",), track, "µ") == "errors, µrad"


def test_numbers_beside_bars_have_no_minus_before_zero():
    assert [rounded(x) for x in (-0.001, 0.0, -0.01, -10.0)] == ["0.00", "0.00", "-0.01", "-10.00"]


def test_words_of_a_session_are_escaped_and_bars_go_to_the_limit():
    info, history = session(), History(ROBOT)
    history.add({7: info}, {7: ticks(info, [0.0], CLAMPED)}, NO_LOOP)
    text = session_html(history.tracks[7], ROBOT)
    assert "CLAMPED" in text and "&lt;me&gt;" in text and "&lt;two&gt;" in text
    assert "9.90 of 10" in text and "-3.00<" in text
    assert "torque, N m" in text
    assert "<me>" not in log_html(history) and "<b>pd</b> clamped" in log_html(history)
    assert "width:50.0%" in bar_html("x", -30.0, 10.0)
    assert "right:50%" in bar_html("x", -30.0, 10.0)


class TestStatus:
    """What the panel says of a session: fault in red, and of a fallback why and until when."""

    @staticmethod
    def shown(status, mode=0, reason=0):
        info, history = session(), History(ROBOT)
        rows = ticks(info, [0.0], status)
        rows["mode"], rows["reason"] = mode, reason
        history.add({7: info}, {7: rows}, NO_LOOP)
        return session_html(history.tracks[7], ROBOT)

    @pytest.mark.parametrize(
        ("status", "color"),
        [(OK, GOOD), (CLAMPED, NOTICE), (FALLBACK, ALARM), (FALLBACK | STOPPED, ALARM)],
    )
    def test_colour_is_that_of_pictures(self, status, color):
        assert f'"torqued-status" style="color:{color}' in self.shown(status)

    def test_fallback_says_what_ends_it(self):
        assert ">STALE FALLBACK (until resume)<" in self.shown(STALE | FALLBACK, FALLEN, STALE)
        stopped = self.shown(FALLBACK | STOPPED, FALLEN, STOPPED)
        assert ">FALLBACK STOPPED (until recover and resume)<" in stopped

    def test_reason_that_is_over_is_still_told(self):
        """Also by a page that is opened after it was over."""
        text = self.shown(FALLBACK, FALLEN, STALE)
        assert ">FALLBACK (because of STALE, until resume)<" in text

    def test_torque_that_is_held_for_a_moment_needs_no_resume(self):
        assert ">STALE FALLBACK<" in self.shown(STALE | FALLBACK)


def test_wall_is_told_with_its_joint():
    info, history = session(), History(ROBOT)
    rows = ticks(info, [0.0], WALL)
    rows["walls"] = 2
    history.add({7: info}, {7: rows}, NO_LOOP)
    assert "at the wall of &lt;two&gt;<" in session_html(history.tracks[7], ROBOT)
    assert "wall (&lt;two&gt;)" in log_html(history)


def test_curves_are_named_after_joints_a_base_a_frame_or_tasks():
    fixed = {"base": "fixed", "joints": ["a", "b"]}
    floating = {"base": "floating", "joints": ["root_joint", "a", "b"]}
    assert joints_of(fixed) == joints_of(floating) == ["a", "b"]
    assert titles(2, fixed, ["a", "b"]) == ["a", "b"]
    velocity, position = (titles(size, floating, ["a", "b"]) for size in (8, 9))
    assert velocity == [*(f"base {x}" for x in titles(6, fixed, ["a", "b"])), "a", "b"]
    assert position[:3] == ["base x", "base y", "base z"] and position[-3:] == ["base qw", "a", "b"]
    assert titles(6, fixed, ["a", "b"])[0] == "turn x" and titles(6, fixed, ["a", "b"])[-1] == "z"
    assert titles(3, fixed, ["a", "b"]) == ["0", "1", "2"]
    assert titles(4, fixed, ["a"] * 4, ["com", "foot"]) == ["com turn", "com", "foot turn", "foot"]


def test_labels_leave_out_what_all_joints_begin_with():
    assert without_common_prefix(["panda_joint1", "panda_joint2"]) == ["joint1", "joint2"]
    assert without_common_prefix(["joint_1", "joint_2"]) == ["1", "2"]
    assert without_common_prefix(["leg", "arm"]) == ["leg", "arm"]
    assert without_common_prefix(["only_one"]) == ["only_one"]
