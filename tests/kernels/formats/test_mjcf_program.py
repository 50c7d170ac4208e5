"""MJCF files in their process: the same robots, and whatever MuJoCo's compiler does is bounded."""

from __future__ import annotations

from itertools import pairwise

import pytest

from torqued.common.errors import ModelError
from torqued.kernels import Robot
from torqued.kernels.formats import mjcf
from torqued.kernels.formats.sources import read_file, read_whole
from torqued.kernels.formats.toml_writer import to_toml

pytest.importorskip("mujoco")

from support.mjcf_agreement import read_here

ARM = """<mujoco model="arm"><option gravity="0 1 -3"/><worldbody><site name="w" pos="1 0 0"/>
<body name="a"><joint name="a" range="-1 2" limited="true"/><joint name="b" type="ball"/>
<geom type="box" size=".1 .2 .3" pos=".1 0 .3"/><body name="c"><joint name="c" armature=".1"/>
<geom size=".123456789"/></body></body></worldbody><equality><weld body1="c"/>
<connect body1="c" body2="a" anchor=".1 0 0"/></equality>
<actuator><motor joint="a" ctrlrange="-2 3"/></actuator>
<keyframe><key name="home" qpos=".3 .6 0 .8 0 .1"/></keyframe></mujoco>"""
MESHED = """<mujoco><asset><mesh name="m" {}/></asset><worldbody>
<body><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""


def test_description_is_that_of_this_process_to_the_bit():
    description = read_whole(ARM)
    assert to_toml(description) == to_toml(read_here(ARM))
    assert description.notes == read_here(ARM).notes != ()


def test_meshes_outside_the_folder_are_read_in_the_process_too(tmp_path):
    folder = tmp_path / "robot"
    folder.mkdir()
    corners = "v 0 0 0\nv .3 0 0\nv 0 .2 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "part.obj").write_text(corners)
    path = folder / "robot.xml"
    path.write_text(MESHED.format('file="../part.obj"'))
    assert read_file(path).links[1].inertia.mass == pytest.approx(0.3 * 0.2 * 0.1 / 6.0 * 1000.0)


BALL = '<body name="a"><joint name="j"/><geom size=".1"/>{}</body>'
BOMBS = {
    "replicas": '<replicate count="99">' * 5 + BALL.format("") + "</replicate>" * 5,
    "what refers to replicas": BALL.format('<replicate count="9000"><site name="s"/></replicate>')
    + '</worldbody><actuator><motor site="s"/></actuator><worldbody>',
    "attached bodies": BALL.format("")
    + "".join(
        f'<body name="{b}"><attach body="{a}" prefix="{a}"/><attach body="{a}" prefix="_"/></body>'
        for a, b in pairwise("abcdefghijklmnopqrstuvwxyz")
    ),
    "keyframes": f'<replicate count="300">{BALL.format("")}</replicate></worldbody><keyframe>'
    + "<key/>" * 30000
    + "</keyframe><worldbody>",
    "meshes": "</worldbody><asset>"
    + "".join(f'<mesh name="m{k}" builtin="supersphere" params="200 1 1"/>' for k in range(99))
    + f"</asset><worldbody>{BALL.format('')}",
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_takes_too_much_is_refused(monkeypatch, name):
    monkeypatch.setattr(mjcf, "CPU_SECONDS", 2)
    with pytest.raises(ModelError, match=r"2 s of CPU time, 2048 MiB of memory|allocate memory"):
        read_whole(f"<mujoco><worldbody>{BOMBS[name]}</worldbody></mujoco>")


def test_mujocos_libraries_print_nothing(capfd):
    with pytest.raises(ModelError, match="qhull"):
        read_whole(MESHED.format('vertex="0 0 0 1 0 0 0 1 0 0 0 1e38" inertia="convex"'))
    assert capfd.readouterr() == ("", "")


def test_faults_of_included_files_name_them(tmp_path):
    (tmp_path / "robot.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
    (tmp_path / "part.xml").write_text("<x>\n\n</y></x>")
    with pytest.raises(ModelError, match=r"part\.xml: malformed XML at line 3"):
        read_file(tmp_path / "robot.xml")


def test_numbers_that_are_none_are_faults():
    heavy = '<inertial pos="0 0 0" mass="1e300" diaginertia="1e300 1e300 1e300"/><geom'
    with pytest.raises(ModelError, match=r"expected|must be"):
        Robot.from_xml(ARM.replace("<geom", heavy))
