"""All faults of a file in one report: what cannot be read beside what makes no sense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torqued.kernels import ModelError, Robot
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.families import family
from torqued.kernels.robot.loading import read_whole

FAULTY = """
<robot name="x">
  <link name="a"><inertial><mass value="-1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="b"><inertial><mass value="heavy"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="c"><inertial><mass value="1"/><inertia ixx="-1" iyy="1" izz="1"/></inertial></link>
  <joint name="j" type="bent"><parent link="a"/><child link="b"/></joint>
  <joint name="k" type="revolute"><parent link="a"/><child link="c"/>
    <axis xyz="0 0 0"/><limit lower="2" upper="1" effort="1" velocity="1"/></joint>
  <joint name="l" type="revolute"><parent link="nowhere"/><child link="d"/></joint>
  <link name="e"><inertial><mass value="-2"/>
    <inertia ixx="x" iyy="1" izz="1" ixy="9"/></inertial></link>
  <joint name="m" type="revolute"><parent link="a"/><child link="e"/><axis xyz="0 0 0"/>
    <limit lower="low" upper="-1" effort="ten" velocity="-1"/><dynamics damping="-1"/>
    <mimic joint="m"/></joint>
</robot>
"""

EXPECTED = [
    ("link 'a'", "mass -1.0"),
    ("link 'b'", "'heavy'"),
    ("link 'c'", "negative eigenvalue -1"),
    ("joint 'j'", "'bent' is unknown"),
    ("joint 'k'", "axis is zero"),
    ("joint 'k'", "lower limit 2.0 is above upper limit 1.0"),
    ("joint 'l'", "parent link 'nowhere'"),
    ("joint 'l'", "child link 'd'"),
    ("link 'e'", "mass -2.0"),
    ("link 'e'", "ixx is 'x'"),
    ("joint 'm'", "axis is zero"),
    ("joint 'm'", "effort is 'ten'"),
    ("joint 'm'", "lower is 'low'"),
    ("joint 'm'", "velocity limit -1.0"),
    ("joint 'm'", "damping -1.0"),
    ("joint 'm'", "mimics itself"),
]


@pytest.fixture(scope="module")
def problems():
    with pytest.raises(ModelError) as caught:
        Robot.from_xml(FAULTY)
    return caught.value.problems


@pytest.mark.parametrize(("subject", "words"), EXPECTED)
def test_fault_is_in_the_report(problems, subject, words):
    assert any(problem.startswith(subject) and words in problem for problem in problems)


def test_nothing_else_is_in_the_report(problems):
    assert len(problems) == len(EXPECTED)


@pytest.mark.parametrize(
    ("good", "bad"), [('<mass value="', '<mass value="x'), ("<child ", "<ch ")]
)
def test_what_stands_in_for_an_unreadable_value_or_a_missing_end_of_a_joint_is_no_fault(good, bad):
    with pytest.raises(ModelError) as caught:
        Robot.from_xml(to_urdf(family("chain", 2)).replace(good, bad, 1))
    assert len(caught.value.problems) == 1


SOUND = to_urdf(family("biped", 3))
WORDS = st.sampled_from(["0", "-1", "x", "nan", "1e308", "", "revolute", "bent", "body", "0 0 0"])


@given(st.lists(st.tuples(st.integers(0, 200), WORDS), min_size=1, max_size=6))
def test_any_values_give_a_description_or_a_model_error(changes):
    pieces = SOUND.split('"')
    for index, word in changes:
        pieces[2 * index % (len(pieces) - 1) + 1] = word
    try:
        read_whole('"'.join(pieces))
    except ModelError as error:
        assert error.problems
