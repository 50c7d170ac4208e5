"""What the page looks like, as far as numbers tell: colours, margins, the camera."""

import io
import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import trimesh

from support.written_sessions import NO_LOOP, session, ticks
from torqued.kernels import Robot
from torqued.kernels.charts.rotation import rotation
from torqued.kernels.model import catalog
from torqued.tools.demos.models import PANDA_READY
from torqued.tools.demos.trajectories import panda_sines
from torqued.tools.recording.recording import RecordedSession, Recording
from torqued.tools.viewers.dash import Dash, Playback
from torqued.tools.viewers.following import frame_poses
from torqued.tools.viewers.history import SPAN, History
from torqued.tools.viewers.panels import LEFT_WIDTH, RIGHT_WIDTH
from torqued.tools.viewers.plots import NOTHING, exponent_of
from torqued.tools.viewers.shapes import capsules, shapes_of


def materials(mesh):
    """Of a mesh as a browser gets it."""
    with io.BytesIO() as file:
        mesh.export(file, file_type="glb")
        data = file.getvalue()
    length = int.from_bytes(data[12:16], "little")
    tree = json.loads(data[20 : 20 + length])
    used = [part.get("material") for item in tree["meshes"] for part in item["primitives"]]
    assert None not in used  # glTF's default is metal
    return [tree["materials"][k]["pbrMetallicRoughness"] for k in used]


def luminance(material):
    return float(np.dot(material["baseColorFactor"][:3], (0.2126, 0.7152, 0.0722)))


@contextmanager
def page_of(robot, shapes, missing=()):
    described = {
        "joints": list(robot.joint_names),
        "base": robot.model.base,
        "limits": {"effort": [None] * robot.nv},
    }
    dash = Dash("test", robot, shapes, History(described), "127.0.0.1", 0, missing)
    try:
        yield dash
    finally:
        dash.close()


def test_page_names_meshes_that_are_missing():
    robot = Robot.family("chain", 2)
    with page_of(robot, capsules(robot), ["mesh x.dae is not found"]) as dash:
        assert "mesh x.dae is not found" in dash.panels.missing.content
    with page_of(robot, capsules(robot)) as dash:
        assert dash.panels.missing is None


WINDOW_SIZES = ((1400, 900), (1920, 1080))


def places(camera, points, width, height):
    """(n, 2) Of points in a picture that reaches from -1 to 1, sideways and upwards."""
    ahead = camera.look_at - camera.position
    ahead = ahead / np.linalg.norm(ahead)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right = right / np.linalg.norm(right)
    seen = (points - camera.position) @ np.array([right, np.cross(right, ahead), ahead]).T
    half = np.tan(0.5 * camera.fov) * np.array([width / height, 1.0])
    assert (seen[:, 2] > 0.0).all()
    return seen[:, :2] / seen[:, 2:] / half


#: Pixels of a window, and so of the picture between its panels.
WINDOWS = {size: (size[0] - LEFT_WIDTH - RIGHT_WIDTH, size[1]) for size in WINDOW_SIZES}


class TestCamera:
    """All of the robot is between the panels, and large enough to be looked at."""

    @staticmethod
    def vertices(robot, shapes, q):
        poses = frame_poses(robot, q)
        found = []
        for shape in shapes:
            position, turn = poses.get(shape.frame, (np.zeros(3), np.array([0.0, 0, 0, 1])))
            local = shape.mesh.vertices @ shape.pose[:3, :3].T + shape.pose[:3, 3]
            found.append(local @ rotation(turn).T + position)
        return np.concatenate(found)

    @pytest.mark.parametrize("window", WINDOWS)
    def test_panda_of_the_demo_stays_in_the_picture(self, window):
        robot, path = Robot.named("panda"), catalog.find_file("panda")
        shapes, _ = shapes_of(robot, path.read_text(), path)
        motion, hand = panda_sines(PANDA_READY), np.zeros(robot.nq - 7)
        with page_of(robot, shapes) as dash:
            dash.scene.look([*PANDA_READY, *hand])
            camera = dash.server.initial_camera
            for t in np.arange(0.0, 10.0, 0.25):
                points = self.vertices(robot, shapes, [*motion(t)[0], *hand])
                assert np.abs(places(camera, points, *WINDOWS[window])).max() < 1.0

    @pytest.mark.parametrize("window", WINDOWS)
    @pytest.mark.parametrize("family", ["chain", "tree", "biped", "quadruped"])
    def test_robot_fills_the_picture_and_not_more(self, family, window):
        robot = Robot.family(family, 12)
        shapes = capsules(robot)
        with page_of(robot, shapes) as dash:
            points = self.vertices(robot, shapes, robot.neutral())
            reached = np.abs(places(dash.server.initial_camera, points, *WINDOWS[window])).max()
        assert 0.35 < reached < 0.65


def test_recording_opens_with_its_data():
    """Its last state, and plots of the seconds before."""
    robot, info = Robot.family("chain", 2), session()
    rows = ticks(info, np.arange(0.0, 20.0, 0.01))
    rows["q"][:, 0] = np.linspace(0.0, 1.0, len(rows))
    recorded = {7: RecordedSession(info, rows)}
    with page_of(robot, capsules(robot)) as dash:
        directory = {"robot": dash.history.robot}
        playback = Playback(dash, Recording(Path("x"), directory, "", recorded, NO_LOOP, {}))
        assert playback.slider.value == playback.seconds == pytest.approx(19.99)
        for name in ("torques", "errors"):
            plot = dash.panels._plots[name]._handle
            assert [series["label"] for series in plot.series[1:]] == ["1", "2"]
            assert plot.data[0][0] < -SPAN < plot.data[0][-1] <= 0.0
        (frame,) = dash.scene._frames.items()
        expected = robot.frame_pose(rows["q"][-1], frame[0])
        assert np.allclose(frame[1].position, expected[:3, 3])
        assert np.allclose(rotation(frame[1].wxyz[[1, 2, 3, 0]]), expected[:3, :3])


class TestPlots:
    """Numbers beside a plot can be read: they differ, and no digit or sign is cut off."""

    @pytest.mark.parametrize(
        ("sizes", "exponents"),
        [
            ([20.0, 0.0, 9000.0, 1.0], [0, 0, 0, 0]),  # what is legible stays
            ([0.05, 0.9, 3.0, 11.0], [-3, -3, -3, 0]),  # nor do curves change units to and fro
            ([3e4, 5e-6, 1e-30, 1e30], [3, -6, -9, 9]),
            ([np.nan, np.inf, 2e-4], [0, 0, -6]),
        ],
    )
    def test_units_follow_the_size_of_curves(self, sizes, exponents):
        now, found = 0, []
        for size in sizes:
            now = exponent_of(np.array([[0.0, 0.0], [0.0, -size]]), now)
            found.append(now)
        assert found == exponents

    def test_small_curves_are_drawn_in_small_units(self):
        robot, info = Robot.family("chain", 2), session()
        rows = ticks(info, [0.0, 0.1, 0.2])
        rows["q"][:, 0] = rows["q_ref"][:, 0] + [0.0, 1e-4, -2.50002e-4]
        with page_of(robot, capsules(robot)) as dash:
            dash.history.add({7: info}, {7: rows}, NO_LOOP)
            dash.plots()
            plot = dash.panels._plots["errors"]._handle
            assert plot.title == "errors, mrad"
            assert plot.data[1].tolist() == [0.0, 0.1, -0.25]
            assert dash.panels._plots["torques"]._handle.title == "torques, N m"

    def test_numbers_to_the_left_have_room(self):
        """The largest have four digits, or three and three more behind the point."""
        wide = 7.7  # pixels of a digit in the widest of usual fonts, at the 12 of the axis
        room = max(len("-999.005") - 1, len("-10,000") - 1) * wide
        robot = Robot.family("chain", 2)
        with page_of(robot, capsules(robot)) as dash:
            plots = [*dash.panels._plots.values(), *dash.panels._times.values()]
            for plot in plots:
                assert plot._handle.axes[1]["size"] >= room + 5.0  # and the gap

    def test_nothing_is_drawn_where_there_is_nothing(self):
        robot = Robot.family("chain", 2)
        with page_of(robot, capsules(robot)) as dash:
            (_, series) = dash.panels._plots["torques"]._handle.series
            assert series["label"] == NOTHING and series["points"] == {"show": False}


class TestMaterials:
    """The page has lamps, and no room around the robot that metal could reflect."""

    def test_capsules_are_light_grey(self):
        for shape in capsules(Robot.family("chain", 3)):
            (material,) = materials(shape.mesh)
            assert material["metallicFactor"] == 0.0 and luminance(material) > 0.5

    @pytest.mark.parametrize("name", ["ur5", "xarm7", "panda"])
    def test_no_mesh_of_a_robot_is_metal(self, name):
        path = catalog.find_file(name)
        for shape in shapes_of(Robot.named(name), path.read_text(), path)[0]:
            assert all(material["metallicFactor"] == 0.0 for material in materials(shape.mesh))

    def test_colours_of_vertices_are_kept(self, tmp_path):
        ball = trimesh.creation.icosphere()
        ball.visual.vertex_colors = np.tile([10, 200, 30, 255], (len(ball.vertices), 1))
        ball.export(tmp_path / "ball.ply")
        text = """<robot name="r"><link name="a"><visual><geometry><mesh filename="ball.ply"/>
            </geometry></visual></link></robot>"""
        (shape,), _ = shapes_of(
            Robot.family("chain", 1), text.replace('"a"', '"link_1"'), tmp_path / "r"
        )
        assert shape.mesh.visual.vertex_attributes["color"][0].tolist() == [10, 200, 30, 255]
        assert materials(shape.mesh)[0]["metallicFactor"] == 0.0
