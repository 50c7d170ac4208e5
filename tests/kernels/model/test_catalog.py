import fnmatch
import importlib.metadata
from pathlib import Path

import pytest

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.formats.sources import read_file
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model import catalog, families, known_robots
from torqued.kernels.model.description import Description, Joint, Link


@pytest.fixture
def without_robot_data(monkeypatch):
    def files(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", files)
    monkeypatch.setattr(catalog.robot_descriptions, "known", dict)


def test_every_urdf_of_the_package_has_a_name_of_its_own():
    files = importlib.metadata.files("example-robot-data")
    on_disk = {Path(file.locate()) for file in files if file.suffix == ".urdf"}
    known = catalog.urdf_files()
    assert set(known.values()) == on_disk
    assert len(known) == len(on_disk)
    assert all(path.is_file() for path in known.values())


def test_files_of_the_same_name_are_told_apart_by_their_folders():
    known = catalog.urdf_files()
    assert known["anymal_b_simple"].name == known["anymal_c_simple"].name == "anymal.urdf"


def test_a_name_and_the_path_of_its_file_mean_the_same():
    path = catalog.find_file("panda")
    assert catalog.find_file(str(path)) == path


def test_families_are_those_that_can_be_built():
    assert set(catalog.FAMILIES) == set(families.FAMILIES)


@pytest.mark.parametrize(("name", "nv"), [("chain5", 5), ("tree7", 7), ("biped4", 6 + 4)])
def test_family_name_with_a_number_loads_that_many_joints(name, nv):
    assert catalog.load(name).nv == nv


def test_urdf_loads_with_the_base_that_is_asked_for():
    fixed, floating = catalog.load("panda"), catalog.load("panda", "floating")
    assert floating.nv == fixed.nv + 6


@pytest.mark.parametrize(
    ("name", "nv"), [("ur5", 6), ("talos", 6 + 32), ("g1", 6 + 29), ("solo12", 6 + 12)]
)
@pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")
def test_known_robot_comes_by_the_name_people_use_with_the_base_that_it_has(name, nv):
    assert catalog.load(name).nv == nv


def test_short_names_lead_to_robots_that_load():
    listed = {robot.name for robot in catalog.usable()}
    assert set(known_robots.SHORT_NAMES.values()) <= listed
    assert len(set(known_robots.SHORT_NAMES.values())) == len(known_robots.SHORT_NAMES)


def test_every_pattern_of_robots_that_move_freely_is_one_of_a_file():
    names = catalog.urdf_files()
    assert all(fnmatch.filter(names, pattern) for pattern in known_robots.FREE)


def test_list_has_robots_that_load_and_no_others():
    listed = {robot.name: robot for robot in catalog.usable()}
    assert {"romeo", "romeo_laas_small", "ur3"}.isdisjoint(listed)
    assert (listed["ur5_robot"].short, listed["ur5_robot"].base) == ("ur5", "fixed")
    assert (listed["solo12"].base, listed["solo12"].joints) == ("floating", 12)


def robot_of(*joints, root="body"):
    """A description whose joints are (name, type, parent)."""
    links = (Link(root), *(Link(f"{name}_link") for name, _, _ in joints))
    return Description(
        "r", links, tuple(Joint(name, kind, above, f"{name}_link") for name, kind, above in joints)
    )


def test_limbs_are_the_joints_that_move_against_the_root():
    robot = robot_of(
        ("trunk", "fixed", "body"),
        ("left", "revolute", "trunk_link"),
        ("knee", "revolute", "left_link"),
        ("right", "prismatic", "body"),
    )
    assert catalog.root_limbs(robot) == ("body", ["right", "left"])
    assert catalog.root_limbs(robot_of(("a", "fixed", "a_link"))) == ("body", [])


def write(folder, *joints, root="body"):
    path = folder / "robot.urdf"
    path.write_text(to_urdf(robot_of(*joints, root=root)))
    return path


def usual_base(path):
    return catalog.usual_base(str(path), Path(path), read_file(path))


def test_file_of_a_robot_with_one_limb_is_bolted_down(tmp_path):
    path = write(tmp_path, ("arm", "revolute", "body"), ("wrist", "revolute", "arm_link"))
    assert usual_base(path) is None


def test_file_of_a_robot_with_legs_asks_for_its_base(tmp_path):
    path = write(tmp_path, ("left", "revolute", "body"), ("right", "revolute", "body"))
    with pytest.raises(
        InputError, match=r"2 limbs start at .* 'body' \(joints left, right\).*--base"
    ):
        usual_base(path)


def test_file_that_brings_the_world_along_is_bolted_to_it(tmp_path):
    joints = ("left", "revolute", "world"), ("right", "revolute", "world")
    assert usual_base(write(tmp_path, *joints, root="world")) is None


@pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")
def test_copy_of_a_known_file_is_judged_by_what_it_holds(tmp_path):
    copy = tmp_path / "mine.urdf"
    copy.write_bytes(catalog.find_file("go2").read_bytes())
    with pytest.raises(InputError, match="limbs start"):
        catalog.load(str(copy))
    assert catalog.load(str(copy), "floating").nv == 18


def test_without_robot_data_no_urdf_is_known(without_robot_data):
    assert catalog.urdf_files() == {}


def test_misspelt_name_is_answered_with_the_one_meant():
    with pytest.raises(InputError, match=r"robot 'pnda' is not known; did you mean panda"):
        catalog.find_file("pnda")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Panda", "panda or panda_collision"), ("talos_full", "talos_full_v2"), ("ur55", "ur5")],
)
def test_suggestions_are_names_that_load(name, meant):
    with pytest.raises(InputError, match=f"did you mean .*{meant}"):
        catalog.find_file(name)


def test_unknown_name_is_answered_with_what_is_allowed():
    with pytest.raises(InputError, match=r"'zzzz' is not known; `torqued models` lists"):
        catalog.find_file("zzzz")


def test_without_robot_data_the_answer_says_how_to_get_it(without_robot_data):
    with pytest.raises(InputError, match=r"pip install 'example-robot-data'"):
        catalog.find_file("panda")


@pytest.mark.parametrize("file", ["arm.xml", "arm.urdf.xacro", "arm"])
def test_existing_file_is_read_whatever_it_is_called(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, ("arm", "revolute", "body")).rename(file)
    assert catalog.describe(file).joints[0].name == "arm"
    assert usual_base(file) is None


def test_file_in_the_current_folder_does_not_hide_a_known_robot(tmp_path, monkeypatch):
    known = catalog.find_file("panda")
    monkeypatch.chdir(tmp_path)
    Path("panda").touch()
    assert catalog.find_file("panda") == known


@pytest.mark.parametrize("name", [300 * "x", 300 * "x" + ".toml", "a\0b"])
def test_name_that_no_file_can_have_is_unknown(name):
    with pytest.raises(InputError, match=r"is not known|no such file"):
        Robot.load(name)


@pytest.mark.parametrize("path", ["nowhere.urdf", "nowhere.xml", "some/folder/robot", "/"])
def test_missing_file_is_named(path):
    what = "is a directory" if path == "/" else "no such file"
    with pytest.raises(InputError, match=f"robot '{path}': {what}"):
        catalog.find_file(path)
