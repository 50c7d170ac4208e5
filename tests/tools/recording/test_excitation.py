"""Motions for identification: within limits, smooth, and better than swinging at random."""

import numpy as np
import pytest

from support.disturbances import CENTRES
from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.tools.cli.main import main
from torqued.tools.demos.trajectories import Sines
from torqued.tools.recording.excitation import MARGIN, excitation, least_clearance
from torqued.tools.recording.identification import TYPICAL_OF_JOINTS, likely_links

SPAN, SHARE = 0.7, 0.4


@pytest.fixture(scope="module", params=["ur5", "panda"])
def designed(request):
    robot = Robot.named(request.param)
    start = CENTRES.get(request.param)
    return robot, excitation(robot, start, 10.0, SPAN, SHARE, 200.0)


def test_motion_keeps_to_all_limits(designed):
    robot, found = designed
    limits, q, v, a = robot.limits, found["q"], found["v"], found["a"]
    free = np.where(
        np.isfinite(limits.upper - limits.lower), MARGIN * (limits.upper - limits.lower), 0
    )
    assert (q >= limits.lower + free).all() and (q <= limits.upper - free).all()
    assert np.abs(q - q[0]).max() <= SPAN
    assert (np.abs(v) <= SHARE * limits.velocity).all()
    tau = np.array([robot.inverse_dynamics(*state) for state in zip(q, v, a, strict=True)])
    assert (np.abs(tau) <= SHARE * limits.effort).all()
    assert np.allclose(np.abs(tau / limits.effort).max(axis=0), found["effort"], rtol=0.05)
    assert np.allclose(np.abs(v / limits.velocity).max(axis=0), found["speed"])
    # It uses what it is allowed: every joint is near its speed limit, or the arm near its effort's.
    assert found["speed"].max() > 0.8 * SHARE or found["effort"].max() > 0.7 * SHARE


def test_motion_is_smooth_and_at_rest_at_both_ends(designed):
    _, found = designed
    for name in "qva":
        assert np.allclose(found[name][0], found[name][-1], atol=1e-9)
    assert np.abs(found["v"][[0, -1]]).max() < 1e-9 and np.abs(found["a"][[0, -1]]).max() < 1e-9
    step = found["time"][1]
    for name, rate in (("q", "v"), ("v", "a")):
        differences = (found[name][2:] - found[name][:-2]) / (2.0 * step)
        assert np.allclose(differences, found[rate][1:-1], atol=2e-3)


def test_regressor_is_better_conditioned_than_with_sines(designed):
    """Its rank on random states is the number of base parameters; sines have the same range."""
    robot, found = designed
    rng, n, D = np.random.default_rng(1), robot.nv, likely_links(robot.inertial_parameters)[1]

    def values(states):
        rows = []
        for q, v, a in states:
            joints = [
                w * np.diag(x) for w, x in zip(TYPICAL_OF_JOINTS, (v, np.sign(v), a), strict=True)
            ]
            Y = np.hstack([robot.regressor(q, v, a) @ D, *joints])
            rows.append(Y / robot.limits.effort[:, None])
        return np.linalg.svd(np.concatenate(rows))[1]

    anywhere = values([(*robot.random_state(rng), rng.normal(size=n)) for _ in range(90)])
    rank = np.count_nonzero(anywhere > 1e-7 * anywhere[0])
    used = values(list(zip(found["q"], found["v"], found["a"], strict=True))[:-1:25])
    sines = Sines(found["q"][0], np.ptp(found["q"], axis=0) / 2, np.full(n, 0.2))
    swung = values([sines(t) for t in found["time"][:-1:25]])
    assert used[0] / used[rank - 1] == pytest.approx(found["condition"], rel=0.05)
    assert found["condition"] < 0.2 * swung[0] / swung[rank - 1]


def test_starts_near_a_limit_or_too_heavy_are_refused():
    robot = Robot.named("ur5", locked=())
    with pytest.raises(InputError, match="'wrist_2_joint' is within 10% of its range of a limit"):
        excitation(robot, [0, -1.2, 1.2, 0, 6.2, 0], 10.0, SPAN, SHARE, 200.0)
    with pytest.raises(InputError, match=r"'shoulder_lift_joint' has 0\.21 of its effort"):
        excitation(robot, CENTRES["ur5"], 10.0, SPAN, 0.05, 200.0)
    with pytest.raises(InputError, match="fixed base"):
        excitation(Robot.family("biped", 8), None, 10.0, SPAN, SHARE, 200.0)


def test_command_writes_the_motion_and_says_what_it_uses(tmp_path, capsys):
    out = tmp_path / "motion.npz"
    start = [f"{x:g}" for x in CENTRES["ur5"]]
    assert main(["excite", "--robot", "ur5", "--start", *start, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "wrist_3_joint" in said and "of limit" in said and "self-collision" in said
    rows = np.load(out)
    assert rows["q"].shape == (10001, 6) and np.allclose(rows["q"][0], CENTRES["ur5"])
    assert main(["excite", "--robot", "ur5", "--share", "2", "--out", str(out)]) == 2
    assert main(["excite", "--robot", "ur5", "--seconds", "1e9", "--out", str(out)]) == 2
    assert "--seconds is 1e+09, expected 0 … 600 s" in capsys.readouterr().err


def test_capsules_stay_apart():
    start = CENTRES["ur5"]
    free = Robot.named("ur5")
    places = [free.frame_pose(start, name)[:3, 3] for name in ("base_link", "wrist_3_link")]
    room = float(np.linalg.norm(places[0] - places[1]))

    def with_radius(radius):
        frames = ("base_link", "wrist_3_link")
        return Robot.named("ur5", capsules=[{"frame": x, "radius": radius} for x in frames])

    robot = with_radius(0.45 * room)
    found = excitation(robot, start, 10.0, SPAN, SHARE, 20.0)
    assert min(least_clearance(robot, q) for q in found["q"]) > 0.0
    alone = excitation(free, start, 10.0, SPAN, SHARE, 20.0)
    assert min(least_clearance(robot, q) for q in alone["q"]) < 0.0  # they are in the way
    with pytest.raises(InputError, match="start: capsules of 'base_link' and 'wrist_3_link' over"):
        excitation(with_radius(0.6 * room), start, 10.0, SPAN, SHARE, 20.0)
