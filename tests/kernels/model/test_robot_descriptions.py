"""Robots of the package robot_descriptions, from a cache that is laid out like its own."""

import importlib
import subprocess
import sys

import pytest

from torqued.kernels import InputError, Robot
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model import catalog, robot_descriptions
from torqued.kernels.model.families import family

REPOSITORIES = importlib.import_module("robot_descriptions._repositories").REPOSITORIES
ARM = to_urdf(family("chain", 3))
XACRO = ARM.replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"', 1)
XACRO = XACRO.replace('name="chain3"', 'name="$(arg ur_type)"').replace(
    "\n", '\n<xacro:arg name="ur_type" default="none"/><xacro:arg name="name" default="none"/>', 1
)
MJCF = """<mujoco model="fr3"><worldbody><body name="link">
<inertial pos="0 0 0.1" mass="2" diaginertia="1 1 1"/><joint name="j" range="-1 1"/>
</body></worldbody></mujoco>"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Makes the repository of a module, with one file in it."""
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path))

    def fill(module, file, text):
        monkeypatch.delitem(sys.modules, f"robot_descriptions.{module}", raising=False)
        repository = REPOSITORIES[robot_descriptions.known()[module].repository]
        monkeypatch.setattr(repository, "url", "file:///nowhere")
        if not file:
            return
        path = tmp_path / repository.cache_path / file
        path.parent.mkdir(parents=True)
        path.write_text(text)
        git = ["git", "-C", str(tmp_path / repository.cache_path)]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "."], check=True)
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([*git, *who, "commit", "-qm", "files"], check=True)
        head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True)
        monkeypatch.setattr(repository, "commit", head.stdout.decode().strip())
        subprocess.run([*git, "checkout", "-q", "--detach"], check=True)

    return fill


@pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")
@pytest.mark.parametrize(
    ("name", "module", "file", "text", "robot", "nv"),
    [
        (
            "z1_description",
            "z1_description",
            "robots/z1_description/xacro/z1.urdf",
            ARM,
            "chain3",
            3,
        ),
        ("ur5e", "ur5e_description", "urdf/ur.urdf.xacro", XACRO, "ur5e", 3),
        ("fr3_mj_description", "fr3_mj_description", "franka_fr3/fr3.xml", MJCF, "fr3", 1),
    ],
)
def test_robot_comes_by_name_from_the_cache(cache, name, module, file, text, robot, nv):
    assert robot_descriptions.module_of(name) == module
    cache(module, file, text)
    assert robot_descriptions.is_there(module)
    found = Robot.load(name)
    assert (found.name, found.nv, found.model.base) == (robot, nv, "fixed")


def test_robot_that_cannot_be_downloaded_is_told_in_a_sentence(cache, tmp_path):
    cache("ur5e_description", None, None)
    with pytest.raises(InputError) as caught:
        Robot.load("ur5e_description")
    repository = REPOSITORIES["Universal_Robots_ROS2_Description"]
    message = str(caught.value)
    assert message.startswith("robot 'ur5e_description' cannot be downloaded (")
    where = tmp_path / "ur_description"
    commands = f"`git clone file:///nowhere` and `git checkout {repository.commit}`"
    assert f"{commands}, and put that in place of {where}" in message
    assert not robot_descriptions.is_there("fr3_mj_description")


def test_names_of_example_robot_data_come_first():
    assert robot_descriptions.module_of("panda") == "panda_description"
    assert catalog.check_name("panda") is None


def test_tags_say_which_robots_move_freely():
    bases = {name: robot_descriptions.base_of(f"{name}_description") for name in ("go2", "ur5e")}
    assert bases == {"go2": "floating", "ur5e": "fixed"}


def test_without_the_package_its_names_are_unknown(monkeypatch):
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    robot_descriptions.known.cache_clear()
    try:
        with pytest.raises(InputError, match="robot 'ur5e' is not known"):
            Robot.load("ur5e")
    finally:
        monkeypatch.undo()
        robot_descriptions.known.cache_clear()
