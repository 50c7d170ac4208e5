import importlib.metadata
from pathlib import Path

import pytest

from torqued.common.errors import InputError
from torqued.kernels.model import catalog, families


@pytest.fixture
def without_robot_data(monkeypatch):
    def files(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", files)


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
    path = catalog.find_urdf("panda")
    assert catalog.find_urdf(str(path)) == path


def test_families_are_those_that_can_be_built():
    assert set(catalog.FAMILIES) == set(families.FAMILIES)


@pytest.mark.parametrize(("name", "nv"), [("chain5", 5), ("tree7", 7), ("biped4", 6 + 4)])
def test_family_name_with_a_number_loads_that_many_joints(name, nv):
    assert catalog.load(name).nv == nv


def test_urdf_loads_with_the_base_that_is_asked_for():
    fixed, floating = catalog.load("panda"), catalog.load("panda", "floating")
    assert floating.nv == fixed.nv + 6


def test_without_robot_data_no_urdf_is_known(without_robot_data):
    assert catalog.urdf_files() == {}


def test_misspelt_name_is_answered_with_the_one_meant():
    with pytest.raises(InputError, match=r"robot 'pnda' is not known; did you mean panda"):
        catalog.find_urdf("pnda")


def test_unknown_name_is_answered_with_what_is_allowed():
    with pytest.raises(InputError, match=r"'zzzz' is not known; `torqued models` lists"):
        catalog.find_urdf("zzzz")


def test_without_robot_data_the_answer_says_how_to_get_it(without_robot_data):
    with pytest.raises(InputError, match=r"pip install example-robot-data"):
        catalog.find_urdf("panda")


@pytest.mark.parametrize("path", ["nowhere.urdf", "some/folder/robot", "/"])
def test_missing_file_is_named(path):
    with pytest.raises(InputError, match=f"robot '{path}': there is no such file"):
        catalog.find_urdf(path)
