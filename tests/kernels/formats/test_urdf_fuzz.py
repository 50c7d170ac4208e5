"""Whatever is in a URDF, it gives a description or a `ModelError`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from torqued.common.errors import ModelError
from torqued.kernels.formats.sources import read_file, read_whole
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.checks import check
from torqued.kernels.model.description import Description
from torqued.kernels.model.families import family


def test_the_text_that_fuzzing_starts_from_is_sound():
    assert isinstance(load(SOUND), Description)


def load(text: str) -> Description | ModelError:
    """Anything but these two outcomes is an error of the reader."""
    try:
        description = read_whole(text)
        check(description)
    except ModelError as error:
        return error
    return description


@given(st.one_of(st.text(), st.binary().map(lambda data: data.decode("latin-1"))))
def test_any_text_gives_a_description_or_a_model_error(text):
    load(text)


@given(st.binary())
def test_any_file_gives_a_description_or_a_model_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "fuzz.urdf"
    path.write_bytes(data)
    try:
        read_file(path)
    except ModelError as error:
        assert error.problems


SOUND = to_urdf(family("biped", 3))
PIECES = st.one_of(
    st.sampled_from(["<", ">", '"', "/>", "<!--", "&lt;", "&x;", "\x00", "é", ""]),
    st.sampled_from(["1e308", "-1e308", "1e-320", "nan", "inf", "0", "-1"]),
    st.sampled_from(["link", "body", "link_left_1", "<limit/>", "<link", "<inertial>"]),
    st.sampled_from(["revolute", "fixed", "planar", "helical", '<mimic joint="joint_left_1"/>']),
)


@given(st.data())
def test_mutated_urdf_gives_a_description_or_a_model_error(data):
    text = SOUND
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 30))
        text = text[:start] + data.draw(PIECES) + text[start + length :]
    load(text)


WORDS = st.one_of(
    st.sampled_from(["body", "link_left_1", "revolute", "fixed", "helical", "spherical", "0 0 0"]),
    st.sampled_from(["0", "-1", "1e30", "1e200", "1e308", "1e-320", "0 1e308 1e308", "9 9 9"]),
)


@given(st.lists(st.tuples(st.integers(0, 200), WORDS), min_size=1, max_size=6))
def test_mutated_attributes_give_a_description_or_a_model_error(changes):
    """Well-formed XML with other values gets further into the checks."""
    pieces = SOUND.split('"')  # every second piece is an attribute's value
    for index, word in changes:
        pieces[2 * index % (len(pieces) - 1) + 1] = word
    load('"'.join(pieces))
