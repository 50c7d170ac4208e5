"""What the page looks like, as far as numbers tell: colours, margins, the camera."""

import io
import json
from contextlib import contextmanager

import numpy as np
import pytest
import trimesh

from torqued.kernels import Robot
from torqued.kernels.model import catalog
from torqued.tools.viewers.dash import Dash
from torqued.tools.viewers.history import History
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


class TestMaterials:
    """The page has lamps, and no room around the robot that metal could reflect."""

    def test_capsules_are_light_grey(self):
        for shape in capsules(Robot.family("chain", 3)):
            (material,) = materials(shape.mesh)
            assert material["metallicFactor"] == 0.0 and luminance(material) > 0.5

    @pytest.mark.parametrize("name", ["ur5", "xarm7", "panda"])
    def test_no_mesh_of_a_robot_is_metal(self, name):
        path = catalog.find_urdf(name)
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
