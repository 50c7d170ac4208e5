"""MJCF files name other files and multiply elements: what may be read, and how much of it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from torqued.common.errors import ModelError
from torqued.kernels.formats import mjcf_file, mjcf_meshes
from torqued.kernels.model.description import Description

pytest.importorskip("mujoco")

import mujoco

from support.mjcf_agreement import difference, read_here

AGREES = 1e-9

OBJ = "v 0 0 0\nv .3 0 0\nv 0 .2 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
ARM = '<body name="{0}"><joint name="{0}"/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/></body>'
MESHED = '<body name="part"><joint/><geom name="shell" type="mesh" mesh="part"/></body>'


def stl() -> bytes:
    points = ((0, 0, 0), (0.3, 0, 0), (0, 0.2, 0), (0, 0, 0.1))
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    rows = [[0.0] * 3 + [x for k in face for x in points[k]] for face in faces]
    return bytes(80) + struct.pack("<I", 4) + b"".join(struct.pack("<12fH", *r, 0) for r in rows)


def write(folder: Path, **files: str | bytes) -> Path:
    """The file `main`, beside others by their names with _ for the point."""
    for name, content in files.items():
        path = folder / f"{name.replace('_', '.')}{'' if '_' in name else '.xml'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / "main.xml"


def model(bodies: str, head: str = "") -> str:
    return f"<mujoco>{head}<worldbody>{bodies}</worldbody></mujoco>"


def problem(path: Path | str) -> str:
    with pytest.raises(ModelError) as caught:
        read_here(path)
    return str(caught.value)


def agreed(path: Path) -> Description:
    description = read_here(path)
    assert difference(description, mujoco.MjModel.from_xml_path(str(path))) < AGREES
    return description


@pytest.mark.parametrize("mesh", ["part_obj", "part_stl", "PART_OBJ"])
@pytest.mark.parametrize(
    "settings", ['meshdir="m"', 'assetdir="m"', 'strippath="true" meshdir="m"']
)
def test_meshes_have_mujocos_inertia(tmp_path, mesh, settings):
    file = mesh.replace("_", ".")
    given = f"elsewhere/{file}" if "strippath" in settings else file
    head = f'<compiler {settings}/><asset><mesh name="part" file="{given}" scale="1 2 3"/></asset>'
    write(tmp_path / "m", **{mesh: stl() if "stl" in mesh else OBJ})
    agreed(write(tmp_path, main=model(MESHED, head)))


def test_meshes_of_one_name_are_not_confused(tmp_path):
    """MuJoCo keeps meshes that it has read."""
    head = '<asset><mesh file="part.obj"/></asset>'
    masses = []
    for scale in ("1", "2", "1"):
        path = write(tmp_path, main=model(MESHED, head), part_obj=OBJ.replace(".3", scale))
        masses.append(read_here(path).links[1].inertia.mass)
    assert masses[0] == masses[2] == pytest.approx(masses[1] / 2.0)


def test_includes_are_found_as_mujoco_finds_them(tmp_path):
    """From the folder of the main file, or else of the file with the <include>."""
    write(
        tmp_path / "sub",
        near="<x>" + ARM.format("near") + "</x>",
        asset='<x><mesh file="part.obj"/></x>',
    )
    write(tmp_path / "sub", part_obj=OBJ, part='<x><include file="near.xml"/></x>')
    head = '<asset><include file="sub/asset.xml"/></asset>'
    path = write(tmp_path, main=model('<include file="sub/part.xml"/>' + MESHED, head))
    assert agreed(path).joints[0].name == "near"


def test_attached_models_are_read(tmp_path):
    head = '<asset><model name="hand" file="sub/hand.xml"/><model file="sub/hand.xml"/></asset>'
    hand = '<mujoco model="own"><compiler angle="radian"/>{}' + model(MESHED)[8:]
    write(
        tmp_path / "sub", part_obj=OBJ, hand=hand.format('<asset><mesh file="part.obj"/></asset>')
    )
    bodies = (
        ARM.format("arm").replace(
            "</body>", '<attach model="hand" body="part" prefix="l_"/></body>'
        )
        + '<frame pos="0 1 0" euler="0 0 50"><attach model="own" prefix="r_"/></frame>'
        + '<body name="b" pos="0 0 1"><attach body="arm" prefix="self_"/></body>'
    )
    names = {link.name for link in agreed(write(tmp_path, main=model(bodies, head))).links}
    assert {"l_part", "r_part", "self_arm", "self_l_part"} <= names


def test_files_outside_the_folder_are_not_read(tmp_path):
    secret = tmp_path / "secret.xml"
    secret.write_text("<x>" + ARM.format("secret") + "</x>")
    folder = tmp_path / "robot"
    folder.mkdir()
    (folder / "link.xml").symlink_to(secret)
    for name in ("../secret.xml", str(secret), "link.xml", "sub/../../secret.xml"):
        path = write(folder, main=model(f'<include file="{name}"/>'))
        assert "outside the folder of the file" in problem(path)
        path = write(folder, main=model("", f'<asset><model file="{name}"/></asset>'))
        assert "outside the folder of the file" in problem(path)


def test_a_text_reads_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(write(tmp_path, part_obj=OBJ, near="<x>" + ARM.format("a") + "</x>").parent)
    assert "a text has no folder" in problem(model('<include file="near.xml"/>'))
    meshed = model(MESHED, '<asset><mesh file="part.obj"/></asset>')
    assert "mesh 'part.obj': a text has no folder" in problem(meshed)


def test_mujoco_opens_no_file_that_the_copy_does_not_name(tmp_path, monkeypatch):
    """Not even one whose name the copy gives to something else."""
    path = write(tmp_path, main=model(ARM.format("a") + MESHED.replace("part", "mesh0"),
                 '<asset><mesh name="mesh0" file="gone.obj"/></asset>'), mesh0_obj=OBJ)  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert "mesh 'gone.obj': no such file, and the inertia needs it" in problem(path)


def test_all_missing_meshes_are_named_with_their_geoms(tmp_path):
    head = '<asset><mesh file="part.obj"/><mesh file="other.stl"/><mesh file="x.dae"/></asset>'
    names = ("part", "other", "x")
    bodies = "".join(MESHED.replace("part", x).replace("shell", f"g_{x}") + "\n" for x in names)
    message = problem(write(tmp_path, main=model(bodies, head)))
    assert "3 problems" in message
    assert "line 2: geom 'g_other' of body 'other': mesh 'other.stl': no such file" in message
    assert "mesh 'x.dae': is not one of .stl, .obj, .msh" in message


@pytest.mark.parametrize(
    "geoms",
    [
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="part"/>',
        '<geom size=".1"/><geom type="mesh" mesh="part" mass="0"/>',
        '<geom size=".1"/><geom type="mesh" mesh="part" density="0" material="m"/>',
        '<geom size=".1"/><geom class="visual"/>',
    ],
)
def test_meshes_that_no_inertia_needs_may_be_missing(tmp_path, geoms):
    visual = '<default class="visual"><geom type="mesh" mesh="part" group="1" mass="0"/></default>'
    head = f'<default>{visual}</default><asset><mesh file="part.obj"/><material name="m"/></asset>'
    text = model('<geom type="mesh" mesh="part"/><body><joint/>' + geoms + "</body>", head)
    lacking = read_here(write(tmp_path, main=text))
    path = write(tmp_path, main=text, part_obj=OBJ)
    assert difference(lacking, mujoco.MjModel.from_xml_path(str(path))) < AGREES


def test_tags_do_not_nest_without_end():
    assert "tags nest deeper than 300" in problem(model("<body>" * 301 + "</body>" * 301))


def test_files_in_circles_and_many_files_are_refused(tmp_path, monkeypatch):
    path = write(
        tmp_path, main=model('<include file="a.xml"/>'), a='<x><include file="a.xml"/></x>'
    )
    assert "is included already" in problem(path)
    loop = write(tmp_path, main=model("", '<asset><model file="main.xml"/></asset>'))
    assert "contains itself" in problem(loop)
    monkeypatch.setattr(mjcf_file, "MAX_FILES", 3)
    many = "".join(f'<model file="m{k}.xml"/>' for k in range(3))
    files = {f"m{k}": model(ARM.format("a")) for k in range(3)}
    path = write(tmp_path, main=model(ARM.format("a"), f"<asset>{many}</asset>"), **files)
    assert "has more than 3 files" in problem(path)
    monkeypatch.setattr(mjcf_meshes, "MAX_BYTES", 10)
    path = write(
        tmp_path, main=model(MESHED, '<asset><mesh file="part.obj"/></asset>'), part_obj=OBJ
    )
    assert "meshes have more than 10 bytes" in problem(path)
    monkeypatch.setattr(mjcf_file, "MAX_CHARACTERS", 10)
    assert "or 10 characters" in problem(path)


@pytest.mark.parametrize("tag", ["flexcomp", "flex", "composite", "bodyy"])
def test_deformable_and_unknown_elements_are_refused_by_name(tag):
    text = model(ARM.format("a") + f'\n<{tag} name="x"/>')
    reason = "is unknown" if tag in ("composite", "bodyy") else "is deformable"
    assert f"line 2: <{tag}> {reason}" in problem(text)
    deformable = '<mujoco><deformable>\n<flex name="x"/></deformable></mujoco>'
    assert "is deformable" in problem(deformable)


def test_faults_name_the_line_of_the_original_file(tmp_path):
    long = "\n".join(
        ["<mujoco>", "<visual/>", "<worldbody>", "<light/>", '<body name="a">', "<!--", "-->"]
    )
    bad = f'{long}\n<geom size=".1"\n siz="1"/></body></worldbody></mujoco>'
    assert "line 8" in problem(bad) and "'siz'" in problem(bad)
    part = '<x>\n\n<body name="p">\n<geom size="-1"/></body></x>'
    path = write(tmp_path, main=model('\n<include file="part.xml"/>'), part=part)
    assert "part.xml, line 4" in problem(path)
    head = '<asset><model name="m" file="sub.xml"/></asset>'
    sub = f"<mujoco>\n<size/>\n{part.replace('x>', 'worldbody>')}</mujoco>"
    path = write(tmp_path, main=model('<attach model="m" prefix="p"/>', head), sub=sub)
    assert "sub.xml, line 6" in problem(path)
    for text in (
        "<mujocoinclude/>",
        "<mujoco",
        "<!DOCTYPE x [<!ENTITY y 'z'>]><mujoco>&y;</mujoco>",
    ):
        assert problem(text)


def test_nothing_is_written_and_warnings_are_notes(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    read = read_here(model(ARM.format("a").replace('"box"', '"box" rgba="nan 0 0 0"')))
    assert any("NaN" in note for note in read.notes)
    light = model(ARM.format("a"), '<compiler settotalmass="1"/>')
    assert any("settotalmass" in note for note in read_here(light).notes)
    assert list(tmp_path.iterdir()) == [] and capfd.readouterr() == ("", "")


def test_a_part_of_a_file_is_told_from_a_robot():
    part = '<mujoco><keyframe><key name="home" qpos="1 2"/></keyframe></mujoco>'
    with pytest.raises(ModelError, match="no bodies; is it a part that other files include"):
        read_here(part)
