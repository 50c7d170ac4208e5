"""One tree of errors: what a kernel raises and what a daemon refuses are caught alike."""

import pytest

from torqued.client import errors as client_errors
from torqued.common import errors
from torqued.common.errors import CODES, InputError, ModelError, NumericalError, RequestError
from torqued.server.requests.replies import as_request_error


@pytest.mark.parametrize(
    "code, kind",
    [
        ("bad_field", InputError),
        ("missing_field", ValueError),
        ("unknown_field", InputError),
        ("singular", NumericalError),
        ("bad_model", ModelError),
    ],
)
def test_refusal_is_caught_as_the_error_that_a_kernel_raises(code, kind):
    with pytest.raises(kind) as caught:
        raise errors.from_map({"code": code, "message": "q: wrong", "field": "q"})
    assert isinstance(caught.value, RequestError)
    assert (caught.value.code, caught.value.field, str(caught.value)) == (code, "q", "q: wrong")


def test_sentences_of_a_report_are_bounded():
    error = ModelError("robot.urdf", ["x" * 10**6] * 10**3)
    assert len(error.problems) == 1000
    assert len(str(error)) < 500_000 and str(error).endswith("x…\n  - … and 800 more")


@pytest.mark.parametrize(
    "raised, code",
    [
        (InputError("q: wrong", "q", 3, "four"), "bad_field"),
        (NumericalError("singular here"), "singular"),
        (errors.error("busy", "later"), "busy"),
    ],
)
def test_error_of_a_kernel_becomes_one_of_the_wire(raised, code):
    found = as_request_error(raised)
    assert (found.code, str(found)) == (code, str(raised))
    for name in ("field", "value", "expected"):
        assert getattr(found, name) == getattr(raised, name, None)


def test_faults_of_files_are_told_one_by_one_on_the_other_side_too():
    here = ModelError("arm.urdf", ["joint 'a': no axis", "link 'b': no mass"])
    there = errors.from_map(errors.error("bad_model", str(here)).to_map())
    assert isinstance(there, ModelError)
    assert there.problems == here.problems
    assert str(there) == str(here)


def test_clients_import_the_same_classes():
    for name in client_errors.__all__:
        assert getattr(client_errors, name) is getattr(errors, name)


def test_every_class_is_drawn_in_the_tree():
    for kind in {*CODES.values(), InputError, NumericalError, ModelError, RequestError}:
        assert f"── {kind.__name__} " in errors.__doc__
    for code in CODES:
        assert code in errors.__doc__


@pytest.mark.parametrize(
    "value", [2**64, -(2**63) - 1, [2**64], "\ud800", object(), {"a": 1}, b"x"]
)
def test_refusal_can_be_sent_whatever_its_value(value):
    from torqued.client import codec

    sent = errors.error("bad_field", "\ud800 is wrong", field="q", value=value)
    assert codec.decode(codec.encode(sent.to_map()))["code"] == "bad_field"
