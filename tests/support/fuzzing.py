"""Messages that are almost right: fields of every operation, wrong in one place or in all."""

import math

import msgpack
import numpy as np

from torqued.client import codec
from torqued.kernels.control.laws import LAWS
from torqued.server.requests.derivatives import DERIVATIVES
from torqued.server.requests.operations import OPERATIONS


def state(robot):
    q, v = robot.random_state(np.random.default_rng(0))
    return q, v


def good_fields(robot):
    """For each field, values that some request may have."""
    q, v = state(robot)
    frame = robot.frame_names[-1]
    contact = {"frame": frame, "kind": "point", "friction": 0.5}
    load = {"frame": frame, "mass": 1.0}
    return {
        "q": [q, q.tolist()],
        "v": [v, v.tolist(), np.zeros(robot.nv)],
        "a": [v],
        "jerk": [v],
        "snap": [v],
        "order": [0, 1, 2, 3],
        "tau": [v],
        "w": [v],
        "b": [v, np.ones((robot.nv, 2))],
        "dt": [0.1, 0],
        "want": [["M", "C", "g"], ["J", "pose"], [], ["Gamma"]],
        "frames": [[frame], [], list(robot.frame_names)],
        "representation": ["hybrid", "body", "spatial", "mixed"],
        "coordinates": ["native", "pinocchio", "mujoco", "hybrid", "com"],
        "f_ext": [{frame: [0.0] * 6}, {}],
        "contacts": [[contact], [], [contact | {"kind": "frame", "half_size": [0.1, 0.1]}]],
        "constraints": [
            [contact, {"frame": frame, "kind": "hinge", "axis": [0, 1, 0]}],
            [{"frame": frame, "held": ["rx", "z"], "stiffness": 400.0, "damping": 40.0}],
            [{"G": np.ones((1, robot.nv)), "gamma": [0.0], "position": [0.1]}],
            [],
        ],
        "weights": [[1.0] * robot.nv, np.full(robot.nv, 2.0)],
        "actuated": [[robot.joint_names[-1]], np.eye(robot.nv), np.zeros((robot.nv, 1)), []],
        "solver": ["range_space", "direct", "null_space"],
        "restitution": [0.0, 0.5, 1],
        "after": [[0.0], [0.0, 1.0, 2.0]],
        "targets": [
            [{"frame": frame, "value": np.eye(4)}],
            [{"frame": frame, "kind": "position", "value": [0.1, 0.2, 0.3], "axes": "xy"}],
            [{"kind": "posture", "value": q, "priority": 1}, {"kind": "com", "value": [0, 0, 1]}],
            [],
        ],
        "tolerance": [1e-3, 0],
        "restarts": [0, 2],
        "seed": [0, 7],
        "memory": [
            {
                "name": "torqued-" + 32 * "0",
                "states": {"q": {"offset": 0, "shape": [1, robot.nq]}},
                "results": [64, 1000],
            }
        ],
        "operation": [
            "dynamics",
            "integrate",
            "control",
            "contact_dynamics",
            "derivatives",
            "assemble",
        ],
        "of": list(DERIVATIVES),
        "law": list(LAWS),
        "gains": [{}, {"damping": 1.0}, {"stiffness": 2.0}],
        "references": [{}, {"q_ref": q}, {"v_ref": v}, {"q_ref": np.array([q, q])}],
        "springs": [{"stiffness": 300.0, "motor_inertia": 0.1}, {"stiffness": 300.0}, {}],
        "motor_q": [v, v.tolist()],
        "motor_v": [v],
        "external_torque": [v],
        "measured_wrench": [np.zeros(6), [1.0] * 6],
        "observer": [True, {"gain": 10.0}, {"uncertainty": 0.2}],
        "payload": [load, [], [load | {"center": [0, 0, 0.1]}]],
        "friction": [True, False, {"viscous": 1.0, "coulomb": [0.5] * robot.nv}, {"share": 0.5}],
        "integral": [True, False, 2.0, 3, {"rate": 1.0, "limit": 0.5}],
        "mass": [1.0, 0],
        "center": [[0.0, 0.1, 0.2]],
        "inertia": [[1.0, 0.0, 0.0, 1.0, 0.0, 1.0], np.eye(3)],
        "frame": [frame],
        "point": [[0.0, 0.0, 0.1]],
        "axes": ["all", "position", "orientation"],
        "axes_in": ["world", "frame"],
        "force": [
            {"axes": [0, 0, 0, 0, 0, 1]},
            {"axes": [0, 0, 0, 1, 0, 0], "sensor": "wrench"},
            {},
        ],
        "load_lower": [[0.0] * 10],
        "load_upper": [[1.0] * 10],
        "tasks": [
            [{"kind": "posture"}],
            [{"kind": "com"}],
            [{"kind": "frame", "frame": frame, "relative_to": robot.frame_names[0]}],
            [],
        ],
        "limits": [{}, {"torque": True}],
        "iterations": [5, 200],
        "hold": [0.0, 0.5],
        "fade": [0.0, 1],
        "fallback_damping": [0.0, 2.0],
        "frozen_after": [0.0, 0.05],
        "effort_limit": [[1.0] * robot.nv],
        "rate_limit": [[1.0] * robot.nv],
        "session": [1],
        "over": [0.1],
        "level": ["INFO"],
        "report": [{"process": 1, "state": "recording", "ticks": 5, "keep": 60.0}],
        "reference_limits": [True, False, {}, {"velocity": 1.0}, {"linear": 0.5, "angular": 1.0}],
        "walls": [
            True,
            False,
            {"joints": False},
            {"frames": [{"frame": frame, "normal": [0, 0, 1]}]},
        ],
        "low_pass": [0.0, 100],
        "admittance": [{"sensor": "none"}, {"frame": frame, "lag": 0.05}, {}],
        "delay": [0.0, 0.002],
        "check": ["refuse", "warn"],
        "transport": ["socket", "memory"],
        "clock": ["loop", "state"],
        "spin": [0.0, 0.001],
        "fallback": ["brake", "hold", "gravity", "zero"],
        "without_states": ["gravity", "zero"],
        "seconds": [0.01, 0, 1.0],
        "speed": [0.1, 1],
        "times": [[1.0, 2.0], [3.0]],
        "take_over": [True, False],
        "lease": [0.5, 10],
        "method": ["rkmk4", "momentum", "euler"],
        "every": [1, 3],
    }


BAD = [
    None,
    True,
    False,
    0,
    -1,
    7,
    2**63,
    2**64 - 1,
    -(2**63),
    1e308,
    -1e308,
    5e-324,
    math.nan,
    math.inf,
    -math.inf,
    "",
    "q",
    "1",
    "1.5",
    "nan",
    "\x00",
    "é" * 70,
    "x" * 3000,
    b"",
    b"M",
    b"\xff\xfe",
    [],
    [[]],
    [[[[[1]]]]],
    [None],
    ["1", "2", "3"],
    [True, False, True],
    [1, [2, 3]],
    [math.nan] * 3,
    {},
    {"": 1},
    {"frame": 1},
    {"frame": None, "kind": []},
    {1: 2},
    {"a": {"b": {"c": [1, 2]}}},
    np.zeros(0),
    np.zeros((0, 3)),
    np.zeros((3, 0)),
    np.zeros(()),
    np.zeros((1,) * 8),
    np.ones(3, np.float32),
    np.ones(3, np.int64),
    np.full(3, 1e200),
    np.full(18, 1e200),
    np.full(3, np.nan),
    np.zeros(1000),
    msgpack.Timestamp(1, 2),
]


def mutated(rng, value):
    """A value that is wrong in one place, or in all."""
    kind = rng.randrange(4)
    if kind == 0 or not isinstance(value, list | dict | np.ndarray):
        return rng.choice(BAD)
    if isinstance(value, np.ndarray):
        if kind == 1 and value.size:
            changed = value.astype(float).copy()
            changed.flat[rng.randrange(value.size)] = rng.choice(
                [math.nan, math.inf, 1e200, -1e308, 1e-320]
            )
            return changed
        return value * rng.choice([1e100, 1e200, 0.0, -1.0]) if kind == 2 else value[:-1]
    if isinstance(value, list):
        if not value or kind == 1:
            return [*value, rng.choice(BAD)]
        k = rng.randrange(len(value))
        return [*value[:k], mutated(rng, value[k]), *value[k + 1 :]]
    changed = dict(value)
    if not value or kind == 1:
        changed[rng.choice(["", "x", "frame", "kind", "q", "elapsed", "self"])] = rng.choice(BAD)
        return changed
    key = rng.choice(list(value))
    changed[key] = mutated(rng, value[key])
    return changed


def check(reply):
    """A result without NaN, or an error that is no fault of the daemon's."""
    if reply["ok"]:
        assert_finite(reply)
        return
    error = reply["error"]
    assert error["code"] != "internal", error
    assert error["message"]
    assert len(error["message"]) <= 1000


def assert_finite(value, name=""):
    if isinstance(value, dict):
        for key, item in value.items():
            if key != "limits":  # infinite where a robot has none
                assert_finite(item, key)
    elif isinstance(value, float | np.ndarray):
        assert np.isfinite(value).all(), name


def packed(message):
    return msgpack.packb(
        message, default=lambda x: codec.encode_array(x) if isinstance(x, np.ndarray) else repr(x)
    )


def fields_for(rng, robot, name, good):
    """Fields of which some are wrong, missing or too many."""
    row = OPERATIONS[name]
    fields = {field: rng.choice(good[field]) for field in row.required}
    for field in row.optional:
        if rng.random() < (0.5 if len(row.optional) < 6 else 0.12):
            fields[field] = rng.choice(good[field])
    for field in list(fields):
        chance = rng.random()
        if chance < 0.25:
            fields[field] = mutated(rng, fields[field])
        elif chance < 0.27:
            del fields[field]
    if rng.random() < 0.03:
        fields[rng.choice(["", "x", "ok", "error", "self"])] = rng.choice(BAD)
    if name == "batch" and rng.random() < 0.8:
        stacked = ("q", "v", "a", "tau", "w", "b", "dt")
        fields = {
            key: np.stack([value, value])
            if key in stacked and isinstance(value, np.ndarray)
            else value
            for key, value in fields.items()
        }
    return fields
