"""`torqued models check` and `convert` from the outside."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.kernels.contacts.types import Contact
from torqued.kernels.formats.sources import read_file
from torqued.kernels.formats.toml_writer import to_toml
from torqued.kernels.model import robot_descriptions
from torqued.kernels.model.catalog import describe
from torqued.tools.cli.main import main

LEGS = """
<robot name="legs"><link name="body"/>
  <link name="l"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="r"><inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <joint name="left" type="continuous"><parent link="body"/><child link="l"/></joint>
  <joint name="right" type="continuous"><parent link="body"/><child link="r"/>
    <limit effort="0"/><mimic joint="left" multiplier="-2"/></joint>
</robot>"""


@pytest.fixture
def legs(tmp_path):
    path = tmp_path / "legs.urdf"
    path.write_text(LEGS)
    return str(path)


def test_there_and_back_is_the_same_robot(tmp_path, capsys):
    screws, urdf = tmp_path / "chain.toml", tmp_path / "chain.urdf"
    assert main(["models", "convert", "chain4", "--to", "screws", "--out", str(screws)]) == 0
    assert main(["models", "convert", str(screws), "--to", "urdf", "--out", str(urdf)]) == 0
    assert f"wrote {urdf}" in capsys.readouterr().out
    q = np.array([0.1, 0.2, -0.3, 0.4])
    M = Robot.family("chain", 4).mass_matrix(q)
    assert np.allclose(Robot.named(str(screws)).mass_matrix(q), M, rtol=1e-12)
    assert np.allclose(Robot.named(str(urdf)).mass_matrix(q), M, rtol=1e-12)


def test_locked_joints_are_written_as_fixed_ones(tmp_path, capsys):
    file = tmp_path / "panda.urdf"
    assert main(["models", "convert", "panda", "--to", "urdf", "--out", str(file)]) == 0
    said = "torqued: note: fixed: panda_finger_joint1 at 0 m, panda_finger_joint2 at 0 m\n"
    out, err = capsys.readouterr()
    assert out == f"wrote {file}\n" and err.startswith(said)
    assert Robot.from_urdf(file).joint_names == Robot.named("panda").joint_names
    options = ["--to", "toml", "--locked", "panda_joint7=0.5", "--base", "floating"]
    assert main(["models", "convert", "panda", *options, "--out", str(file)]) == 0
    written = read_file(file.rename(tmp_path / "panda.toml"))
    assert [(joint.name, joint.position) for joint in written.locked] == [("panda_joint7", 0.5)]
    assert written.base == "floating"


def test_text_goes_to_standard_output_and_what_is_lost_to_standard_error(capsys):
    assert main(["models", "convert", "chain2", "--to", "screws"]) == 0
    assert '[[joint]]\nname = "joint_1"' in capsys.readouterr().out
    assert main(["models", "convert", "biped12", "--to", "mjcf"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("<mujoco") and 'type="free"' in out
    assert "torqued: note: mjcf has no speed limits: " in err


def test_description_has_the_base_that_was_given(capsys, legs):
    assert main(["models", "convert", legs, "--base", "fixed", "--to", "toml"]) == 0
    assert '\nbase = "fixed"\n' in capsys.readouterr().out


def test_what_cannot_be_written_or_read_is_told_in_one_line(capsys, tmp_path, legs):
    out = str(tmp_path / "no" / "file.toml")
    assert main(["models", "convert", "chain2", "--to", "urdf", "--out", out]) == 2
    assert "cannot write --out" in capsys.readouterr().err
    assert main(["models", "convert", "pandda", "--to", "urdf"]) == 2
    assert "'pandda' is not known" in capsys.readouterr().err
    for argument, said in {
        "prefix": "--arg prefix: expected NAME=VALUE",
        "a=b": "for xacro",
    }.items():
        assert (
            main(["models", "convert", legs, "--base", "fixed", "--to", "urdf", "--arg", argument])
            == 2
        )
        assert said in capsys.readouterr().err


def test_a_robot_is_shown_with_what_was_guessed(capsys, legs):
    assert main(["models", "check", legs]) == 2
    assert 'its base is not clear; state base = "fixed" or "floating"' in capsys.readouterr().err
    assert main(["models", "check", legs, "--base", "fixed"]) == 0
    out = capsys.readouterr().out
    head = "legs: fixed base, 3 links, 2 joints, 1 degree of freedom, 4 kg, "
    assert out.startswith(head + legs)
    assert "├╴left   continuous  → l  1 kg\n└╴right  continuous  → r  3 kg\n" in out
    assert "-2 × left + 0" in out
    assert "mass: 2 of 3 links have some, from l 1 kg to r 3 kg" in out
    assert "\n\ntorqued can load this robot, with" in out
    assert main(["models", "check", legs, "--base", "floating"]) == 0
    out = capsys.readouterr().out
    assert "floating base, 3 links, 2 joints, 7 degrees of freedom" in out and "guessed" not in out
    to_r = '"/><child link="r"/>'
    one_limb = LEGS.replace(f'<parent link="body{to_r}', f'<parent link="l{to_r}')
    Path(legs).write_text(one_limb)
    assert main(["models", "check", legs]) == 0
    assert "guessed:\n  - base: fixed, since" in capsys.readouterr().out
    assert main(["models", "check", legs, "--base", "fixed"]) == 0
    assert "guessed" not in capsys.readouterr().out


def test_json_has_the_same_content(capsys, legs):
    assert main(["models", "check", legs, "--base", "fixed", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["degrees_of_freedom"], found["mass"], found["base"]) == (1, 4.0, "fixed")
    left, right = found["joints"]
    assert (left["limits"]["upper"], right["limits"]["effort"]) == (None, 0.0)
    assert right["mimic"] == {"joint": "left", "multiplier": -2.0, "offset": 0.0}
    assert found["guessed"] == [] and len(found["warnings"]) > 0


def test_all_faults_of_a_refused_robot_are_shown(capsys, tmp_path, legs):
    bad = tmp_path / "bad.urdf"
    bad.write_text(
        LEGS.replace('mass value="1"', 'mass value="x"').replace('"left" mul', '"u" mul')
    )
    assert main(["models", "check", str(bad)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("✗ link 'l'") and out.endswith(f"refused: 1 fault in {bad}\n")
    assert (
        main(["models", "check", legs, "--base", "fixed", "--locked", "none,right=9", "--json"])
        == 1
    )
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "refused" and len(found["faults"]) == 2
    assert main(["models", "check", "solo12"]) == 0
    assert main(["models", "check", "solo12", "--strict"]) == 1


def test_large_robots_are_shortened_and_chains_are_not_indented(capsys):
    assert main(["models", "check", "chain500"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 100 and max(map(len, lines)) < 120
    assert "… and 461 more links; --json has all of them" in lines
    assert main(["models", "check", "talos"]) == 0
    out = capsys.readouterr().out
    assert (
        "+ 1 frame" in out
        and "joint 'gripper_left_inner_double_joint' and 11 more: <mimic> is" in out
    )


def test_a_picture_has_a_panel_for_each_posture(tmp_path, capsys):
    from matplotlib.image import imread

    panda = describe("panda")
    postures = {f"p{k}": {"panda_joint2": (0.1 * k,)} for k in range(4)}
    stance = {"hold": (Contact("panda_hand"),)}
    (tmp_path / "p.toml").write_text(to_toml(replace(panda, postures=postures, constraints=stance)))
    sizes = []
    for robot in ("panda", str(tmp_path / "p.toml")):
        assert main(["models", "check", robot, "--picture", str(tmp_path / "p.png")]) == 0
        sizes.append(imread(tmp_path / "p.png").shape[:2])
    (height, width), (tall, wide) = sizes
    assert tall > 1.5 * height and wide > 2.0 * width
    out = capsys.readouterr().out
    assert "posture p3: panda_joint2 0.3" in out
    assert "constraints hold: contact of panda_hand" in out
    colors = imread(tmp_path / "p.png")[:, :, :3]
    links = np.array([0x33, 0x41, 0x5C]) / 255.0
    assert np.all(np.abs(colors - links) < 1e-3, axis=2).sum() > 1000


def test_configuration_with_a_tool_is_shown_and_written_without_it(capsys, tmp_path):
    path = tmp_path / "robot.toml"
    path.write_text('[robot]\nmodel = "panda"\n[robot.tool]\nframe = "panda_hand"\nmass = 0.7\n')
    assert main(["models", "check", str(path)]) == 0
    assert "its tool, payload, links and friction are loaded" in capsys.readouterr().out
    assert main(["models", "convert", str(path), "--to", "urdf"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("<robot") and "capsules of a configuration are left out" in err


def test_picture_is_a_png(capsys):
    with pytest.raises(SystemExit):
        main(["models", "check", "panda", "--picture", "x.bmp"])
    assert "x.bmp: expected the name of a PNG file" in capsys.readouterr().err


def test_list_says_of_which_kind_a_robot_is_and_whether_it_is_there(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path))
    git = tmp_path / "mujoco_menagerie" / ".git"
    git.mkdir(parents=True)
    commit = robot_descriptions._repository("fr3_mj_description").commit
    (git / "HEAD").write_text(f"{commit}\n")
    assert main(["models"]) == 0
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line}
    assert rows["ur5_robot"][1:5] == ["ur5", "urdf", "yes", "fixed"]
    assert rows["fr3_mj_description"][1:4] == ["mjcf", "yes", "fixed"]
    assert rows["go2_description"][1:5] == ["urdf", "no", "floating", "12"]
    assert rows["chainN"][1:3] == ["family", "yes"]
