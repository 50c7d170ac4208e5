"""`Robot`, `Batch` and `Client` agree: names, order and defaults of what their methods take."""

import inspect

import pytest

from torqued.client import AsyncClient, Client
from torqued.kernels import Robot
from torqued.kernels.batch.batch import Batch

#: Method → why its arguments have nothing in common.
OTHERS = {
    "batch": "of a robot: what computes for many states; of a client: an operation for many",
}
#: Argument that some have and others lack → why.
LACKING = {
    "out": "results of a daemon come in memory of their own, those of several arrays have no out",
    "point": "the wire has frames; points of them can be had by a frame of the model",
    "v_ref": "the regressor of a law's reference is for laws, which are in the daemon",
    "limits": "a daemon keeps to the limits",
    "report": "a function cannot be sent",
    "timeout": "of requests alone",
    "law": "a robot simulates whatever gives torques; a daemon a law by its name",
    "gains": "of that law",
    "references": "of that law",
}


def arguments(kind, name):
    parameters = list(inspect.signature(getattr(kind, name)).parameters.values())
    assert parameters[0].name == "self"
    return {parameter.name: parameter for parameter in parameters[1:]}


def common(*kinds):
    public = [{name for name in dir(kind) if not name.startswith("_")} for kind in kinds]
    methods = [name for name in sorted(set.intersection(*public)) if name not in OTHERS]
    return [name for name in methods if all(callable(getattr(kind, name)) for kind in kinds)]


PAIRS = [
    pytest.param(name, one, other, id=f"{one.__name__}-{other.__name__}-{name}")
    for one, other in [(Robot, Client), (Robot, Batch), (Batch, Client), (Client, AsyncClient)]
    for name in common(one, other)
    if (one, other) != (Client, AsyncClient) or hasattr(Robot, name)
]


@pytest.mark.parametrize("name, one, other", PAIRS)
def test_methods_of_one_name_take_the_same(name, one, other):
    here, there = arguments(one, name), arguments(other, name)
    assert set(here) ^ set(there) <= set(LACKING)
    shared = [argument for argument in here if argument in there]
    assert shared == [argument for argument in there if argument in here]
    for argument in shared:
        assert here[argument].default == there[argument].default, argument


@pytest.mark.parametrize("name, one, other", PAIRS)
def test_arguments_by_position_mean_the_same(name, one, other):
    def positional(kind):
        taken = arguments(kind, name).values()
        return [one.name for one in taken if one.kind is one.POSITIONAL_OR_KEYWORD]

    here, there = positional(one), positional(other)
    for k, (mine, theirs) in enumerate(zip(here, there, strict=False)):
        assert mine == theirs, f"argument {k}"


def test_there_is_much_in_common():
    assert len(common(Robot, Client)) >= 30
    assert len(common(Robot, Batch)) >= 20


def test_exceptions_are_needed():
    used = {
        argument
        for name, one, other in (pair.values for pair in PAIRS)
        for argument in set(arguments(one, name)) ^ set(arguments(other, name))
    }
    assert used == set(LACKING)
