"""`torqued convert` from the outside."""

import numpy as np

from torqued.kernels import Robot
from torqued.tools.cli.main import main


def test_there_and_back_is_the_same_robot(tmp_path, capsys):
    screws, urdf = tmp_path / "chain.toml", tmp_path / "chain.urdf"
    assert main(["convert", "chain4", "--to", "screws", "--out", str(screws)]) == 0
    assert main(["convert", str(screws), "--to", "urdf", "--out", str(urdf)]) == 0
    assert f"wrote {urdf}" in capsys.readouterr().out
    q = np.array([0.1, 0.2, -0.3, 0.4])
    M = Robot.family("chain", 4).mass_matrix(q)
    assert np.allclose(Robot.named(str(screws)).mass_matrix(q), M, rtol=1e-12)
    assert np.allclose(Robot.named(str(urdf)).mass_matrix(q), M, rtol=1e-12)


def test_locked_joints_are_written_as_fixed_ones(tmp_path, capsys):
    file = tmp_path / "panda.urdf"
    assert main(["convert", "panda", "--to", "urdf", "--out", str(file)]) == 0
    said = "; fixed: panda_finger_joint1 at 0 m, panda_finger_joint2 at 0 m\n"
    assert capsys.readouterr().out == f"wrote {file}{said}"
    assert Robot.from_urdf(file).joint_names == Robot.named("panda").joint_names


def test_it_prints_without_a_file(capsys):
    assert main(["convert", "chain2"]) == 0
    assert '[[joint]]\nname = "joint_1"' in capsys.readouterr().out


def test_what_cannot_be_written_or_read_is_told_in_one_line(capsys, tmp_path):
    assert main(["convert", "chain2", "--out", str(tmp_path / "no" / "file.toml")]) == 2
    assert "cannot write --out" in capsys.readouterr().err
    assert main(["convert", "pandda"]) == 2
    assert "'pandda' is not known" in capsys.readouterr().err
