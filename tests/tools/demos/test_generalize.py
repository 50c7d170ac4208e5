"""Every law on many robots: what its claims are judged by, each against something independent."""

import json
import os
from dataclasses import asdict

import numpy as np
import pytest
from rich.console import Console

from torqued.common.errors import InputError
from torqued.kernels import Contact
from torqued.kernels.control import Controller
from torqued.tools.demos import generalize, generalize_motions, generalize_stability
from torqued.tools.demos.daemon import ProcessError
from torqued.tools.demos.generalize_cases import QUICK, Outcome
from torqued.tools.demos.generalize_claims import CLAIMS, judge_all
from torqued.tools.demos.generalize_loop import (
    PERIOD,
    ROUGH,
    Condition,
    Trial,
    add_losses,
    beyond_limits,
    chatter,
    hold,
    losses,
    over_speed,
    quiet,
)
from torqued.tools.demos.generalize_robots import (
    LAWS,
    ROWS,
    Row,
    chosen,
    chosen_laws,
    describe,
    heavier,
    last_frame,
    load,
    useful_effort,
)
from torqued.tools.demos.generalize_stance import FRICTION, stance_of, standing_plant
from torqued.tools.demos.plant import Plant

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")


def row(name, kind="arm"):
    return next(
        item for item in ROWS if item.name == name and (item.kind == "arm") == (kind == "arm")
    )


@pytest.fixture(scope="module")
def ur5():
    return load(describe(row("ur5")), "fixed")


def test_unknown_robots_and_laws_are_refused_with_what_there_is():
    with pytest.raises(InputError, match="unknown robot 'pnda'"):
        chosen("ur5,pnda", quick=False)
    with pytest.raises(InputError, match="unknown law 'pid'"):
        chosen_laws("pid")
    assert [item.name for item in chosen("go2, ur5", quick=False)] == ["ur5", "go2"]
    assert chosen_laws("balance,pd") == ("pd", "balance")


def test_rows_of_a_menagerie_come_beside_the_others_and_have_to_be_there(tmp_path):
    file = tmp_path / "unitree_go2" / "go2.xml"
    with pytest.raises(InputError, match=r"robot 'go2' has no file .*unitree_go2/go2\.xml"):
        chosen("go2,kinova", quick=False, menagerie=tmp_path)
    file.parent.mkdir()
    file.touch()
    rows = chosen("go2,kinova", quick=False, menagerie=tmp_path)
    assert [item.label for item in rows] == ["kinova", "go2", "go2 (MJCF)"]
    assert rows[-1].mjcf == str(file) and rows[-1].kind == "quadruped"


def test_efforts_that_make_no_sense_are_not_what_chatter_is_measured_by():
    finger = load(describe(row("finger_edu")), "fixed")
    assert (finger.limits.effort == 1000.0).all()
    assert (useful_effort(finger) < 100.0).all()


def test_heavier_links_weigh_more_by_the_same_share(ur5):
    q, _ = ur5.random_state(np.random.default_rng(0))
    heavy = load(heavier(describe(row("ur5")), 1.1), "fixed")
    np.testing.assert_allclose(heavy.gravity(q), 1.1 * ur5.gravity(q), atol=1e-12)
    np.testing.assert_allclose(heavy.mass_matrix(q), 1.1 * ur5.mass_matrix(q), atol=1e-12)


@pytest.mark.parametrize("name", ["ur5", "xarm7", "so101"])
def test_simulated_joints_have_the_friction_that_was_asked_for(name):
    """A torque below Coulomb's friction moves nothing, however light; above it the rest drives."""
    plant = Plant(describe(row(name)))
    plant.model.opt.gravity[:] = 0.0
    n, effort = plant.robot.nv, plant.robot.limits.effort
    viscous, coulomb = losses(ROUGH, effort)
    add_losses(plant, viscous, coulomb)
    for share, moves in ((0.8, False), (4.0, True)):
        plant.reset(np.zeros(n), np.zeros(n))
        tau = np.zeros(n)
        tau[-1] = share * coulomb[-1]
        for _ in range(100):
            plant.step(tau)
        assert abs(plant.v[-1]) > 0.1 if moves else abs(plant.v[-1]) < 5e-3


def test_free_motion_is_what_many_small_steps_give():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    M_inverse, X = A @ A.T + np.eye(3), 1e4 * rng.normal(size=(3, 3))
    step, push = generalize_stability.free_motion(X, M_inverse)
    x, u = rng.normal(size=6), rng.normal(size=3)
    q, v, h = x[:3].copy(), x[3:].copy(), PERIOD / 20000
    for _ in range(20000):  # symplectic midpoint
        q += 0.5 * h * v
        v += h * (M_inverse @ u - X @ q)
        q += 0.5 * h * v
    np.testing.assert_allclose(step @ x + push @ u, [*q, *v], rtol=1e-8)


@pytest.mark.parametrize("delay", [0, 1, 2, 3])
@pytest.mark.parametrize(("k", "d"), [(100.0, 20.0), (100.0, 500.0), (4e4, 50.0)])
def test_growth_rate_is_that_of_the_same_loop_run_in_time(delay, k, d):
    """A unit mass under spring and damper, step by step, from a nudge."""
    step, push = generalize_stability.free_motion(np.zeros((1, 1)), np.eye(1))
    pose = generalize_stability.Pose(np.zeros(1), np.eye(1), step, push)
    rate = generalize_stability.growth_rate(pose, -np.array([[k, d]]), delay)
    q, v, late = 1.0, 0.3, [0.0] * delay
    sizes = []
    for _ in range(12000):
        late.append(-k * q - d * v)
        a = late.pop(0)
        q, v = q + PERIOD * v + 0.5 * PERIOD**2 * a, v + PERIOD * a
        scale = np.hypot(q, v)
        sizes.append(np.log(scale))
        q, v, late = q / scale, v / scale, [x / scale for x in late]
    seen = np.sum(sizes[2000:]) / (10000 * PERIOD)
    assert rate == pytest.approx(seen, rel=0.02, abs=0.5)


def test_scan_and_simulation_agree_which_damping_is_too_much(ur5):
    """A damping that the scan finds unstable swings in MuJoCo, and half of its limit does not."""
    frame, effort = "tool0", useful_effort(ur5)
    where = generalize_stability.poses(ur5, 1)
    q = where[0].q
    least = np.linalg.eigvalsh(ur5.mass_matrix(q)).min()
    condition, seen = Condition("late", delay=2), []
    for rate in (150.0, 1200.0):  # 1/s; late by 2.5 ms in the mean, π/2 / 2.5 ms is the limit
        gains = {"stiffness": 100.0 * least, "damping": rate * least}
        controller = Controller(ur5, "pd", gains=gains)
        found = generalize_stability.scan(controller, frame, where, condition.delay)
        trial = Trial(ur5, Plant(describe(row("ur5"))), controller, condition)
        trial.references = lambda t: {"q_ref": q}
        log = trial.run(q + 0.005, 0.6)
        seen.append((found.unstable, chatter(log.tau[-200:], effort) > 1e-3))
    assert seen == [(0, False), (1, True)]


def test_robot_that_runs_away_ends_its_run(ur5, tmp_path, monkeypatch):
    """MuJoCo would begin anew, and say so in a file."""
    monkeypatch.chdir(tmp_path)
    quiet()
    controller = Controller(ur5, "pd", gains={"damping": 1e-3, "stiffness": 1e-3})
    trial = Trial(ur5, Plant(describe(row("ur5"))), controller, Condition("clean"))
    trial.plant.model.opt.gravity[:] = 1e12
    log = trial.run(np.zeros(6), 0.5)
    assert log.ran_away
    assert len(log.q) < 500
    assert not list(tmp_path.iterdir())


def test_chatter_is_the_fast_part_of_a_torque():
    t = PERIOD * np.arange(1000)
    effort = np.array([10.0, 10.0])
    slow, fast = 5.0 * np.sin(2 * np.pi * 1.0 * t), np.sin(2 * np.pi * 250.0 * t)
    assert chatter(np.stack([slow, slow], axis=1), effort) < 1e-3
    both = np.stack([slow, slow + fast], axis=1)
    assert chatter(both, effort) == pytest.approx(0.1 / np.sqrt(2), rel=0.1)


def test_speed_and_ends_of_joints_are_those_of_the_worst_joint(ur5):
    v = np.zeros((3, 6))
    v[1, 2] = -6.3
    assert over_speed(ur5, v) == (pytest.approx(2.0), "elbow_joint")
    q = np.zeros((3, 6))
    q[2, 2] = np.pi + 0.25
    assert beyond_limits(ur5, q) == pytest.approx(0.25, abs=1e-3)
    assert beyond_limits(ur5, q[:2]) == 0.0


@pytest.mark.parametrize("name", ["ur5", "kinova", "tiago_no_hand"])
def test_motions_stay_within_the_limits_of_any_arm(name):
    item = row(name)
    description = describe(item)
    robot = load(description, "fixed")
    effort = useful_effort(robot)
    q = generalize_motions.ready_pose(robot, item.frame or last_frame(description), effort)
    swing = generalize_motions.motion(robot, q, effort)
    times = np.linspace(0.0, 3.0, 61)
    states = [swing(t) for t in times]
    torques = np.array([robot.inverse_dynamics(*state) for state in states])
    assert (np.abs(torques) <= effort).all()
    assert (np.abs([v for _, v, _ in states]) <= robot.limits.velocity).all()
    goal = generalize_motions.jumped(robot, q)
    for pose in (q, goal, *(state[0] for state in states)):
        assert (pose >= robot.limits.lower).all()
        assert (pose <= robot.limits.upper).all()
    assert np.abs(goal - q).max() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "name",
    [
        "g1",
        "go2",
        *(
            pytest.param(item.name, marks=pytest.mark.slow)
            for item in ROWS
            if item.kind != "arm" and item.name not in ("g1", "go2")
        ),
    ],
)
def test_stance_has_level_feet_around_the_center_of_mass(name):
    item = row(name, "floating")
    description = describe(item)
    robot = load(description, "floating")
    stance = stance_of(robot, description, item.kind == "biped")
    assert len(stance.legs) == (2 if item.kind == "biped" else 4)
    lower, upper = robot.limits.lower[7:], robot.limits.upper[7:]
    assert (stance.q[7:] >= lower).all()
    assert (stance.q[7:] <= upper).all()
    corners = np.concatenate(
        [
            robot.frame_pose(stance.q, leg.frame)[:3, :3] @ points.T
            + robot.frame_pose(stance.q, leg.frame)[:3, 3:]
            for leg, points in zip(stance.legs, stance.points, strict=True)
        ],
        axis=1,
    )
    assert np.abs(corners[2]).max() < 5e-3
    com = robot.center_of_mass(stance.q)
    assert (corners[:2].min(axis=1) + 0.02 < com[:2]).all()
    assert (com[:2] < corners[:2].max(axis=1) - 0.02).all()
    plant = standing_plant(description, stance)
    lowered = stance.q - np.eye(robot.nq)[2] * 6e-3
    plant.reset(lowered, np.zeros(robot.nv))
    assert plant.data.ncon == corners.shape[1]
    assert all(contact["friction"] == FRICTION for contact in stance.contacts)


def test_stances_move_only_where_their_contacts_let_them():
    """Along the free directions feet stay; oracle: forward dynamics with contacts."""
    description = describe(row("go2", "floating"))
    robot = load(description, "floating")
    stance = stance_of(robot, description, flat=False)
    (pose,) = generalize_stability.stances(robot, stance, 1)
    N = pose.directions
    contacts = [Contact(leg.frame, kind="point") for leg in stance.legs]
    rng = np.random.default_rng(0)
    tau = np.concatenate([np.zeros(6), rng.normal(size=12)])
    rest = np.zeros(robot.nv)
    a = robot.contact_dynamics(pose.q, rest, tau, contacts).a
    b = robot.contact_dynamics(pose.q, rest, 0.0 * tau, contacts).a
    n = N.shape[1]
    # A force that is held for a period gives this speed at its end.
    gained = N @ (pose.push[n:] @ (N.T @ tau)) / PERIOD
    np.testing.assert_allclose(gained, a - b, rtol=1e-2, atol=1e-3 * np.abs(a - b).max())


@pytest.mark.parametrize("delay", [0, 2])
def test_scan_of_stances_agrees_with_standing(delay):
    """`balance` with its own damping of the base, and with so much that it swings."""
    description = describe(row("go2", "floating"))
    robot = load(description, "floating")
    stance = stance_of(robot, description, flat=False)
    where = generalize_stability.stances(robot, stance, 1)
    seen = []
    for factor in (1.0, 40.0):
        options = {"contacts": stance.contacts}
        usual = Controller(robot, "balance", **options).gains["base.damping"]
        gains = {"base.damping": factor * float(usual[0])}
        controller = Controller(robot, "balance", gains=gains, **options)
        found = generalize_stability.scan(controller, "", where, delay)
        trial = Trial(robot, standing_plant(description, stance), controller, Condition("", delay))
        references = hold(controller, robot, "", stance.q)
        trial.references = lambda t, given=references: given
        log = trial.run(stance.q, 0.5)
        swings = chatter(log.tau[-200:, 6:], robot.limits.effort[6:]) > 1e-3
        seen.append((bool(found.unstable), swings))
    assert seen == [(False, False), (True, True)]


def made_up(**changes):
    """A run in which everything is well."""
    names = ("error", "drift", "chatter", "speed", "end_speed", "delay", "beyond", "growth")
    fine = dict.fromkeys(names, 0.0)
    return asdict(Outcome("ur5", "arm", "pd_plus", "clean", "track")) | fine | changes


BAD = {
    "stable_in_all_poses": {"run": "poses", "poses": 1000, "unstable": 1},
    "holds_without_reference": {"run": "hold", "drift": 0.11},
    "chatter_below_2_percent": {"run": "rest", "chatter": 0.021},
    "speed_within_110_percent": {"run": "jump", "speed": 1.11},
    "impedance_through_singularity": {"run": "stretch", "law": "impedance", "speed": 1.01},
    "tracks": {"error": 5.1e-3},
    "stands": {"run": "stand", "kind": "biped", "law": "balance", "fell": True},
    "within_joint_ends": {"run": "jump", "beyond": 0.06},
    "torques_are_usable": {"run": "jump", "status": ["CLAMPED", "SOLVER"]},
    "comes_to_rest": {"run": "jump", "condition": "bare", "end_speed": 0.021},
    "returns": {"run": "learn", "law": "adaptive", "error": 0.011},
    "finds_frozen_encoders": {"run": "freeze", "law": "passivity", "delay": 0.031},
    "presses": {"run": "press", "law": "impedance", "error": 0.051},
}


#: What the report says of these runs.
WORST = {
    "stable_in_all_poses": "0.1% of poses",
    "holds_without_reference": "0.110 rad or m",
    "chatter_below_2_percent": "2.10% of the effort",
    "speed_within_110_percent": "111.0% of the velocity limit",
    "impedance_through_singularity": "101.0% of the velocity limit",
    "tracks": "0.0051 rad RMS",
    "stands": "fell",
    "within_joint_ends": "0.0600 rad past its end",
    "torques_are_usable": "1 of these bits",
    "comes_to_rest": "2.1% of the velocity limit",
    "returns": "0.011 rad",
    "finds_frozen_encoders": "0.031 s",
    "presses": "0.051 of the force, or m/s",
}


@pytest.mark.parametrize("name", BAD)
def test_each_claim_fails_for_a_run_that_breaks_it_and_names_it(name):
    kept = ("run", "kind", "law", "condition", "poses")
    same = {key: BAD[name][key] for key in kept if key in BAD[name]}
    fine = made_up(**same)
    assert judge_all([fine])[name].holds
    broken = made_up(robot="kinova", **BAD[name])
    check = judge_all([fine, broken])[name]
    assert not check.holds
    assert f"1 of 2 runs fail; worst {WORST[name]} (kinova, " in check.found


def test_report_of_what_holds_has_the_number_too():
    check = judge_all([made_up(run="jump")])["torques_are_usable"]
    assert "worst 0 of these bits (ur5, " in check.found


def test_every_claim_has_such_a_run():
    assert set(BAD) == {claim.name for claim in CLAIMS}


@pytest.mark.parametrize(
    "changes", [{"error": np.nan}, {"refused": "frame: missing"}, {"ran_away": True}]
)
def test_nan_refusals_and_runaways_fail(changes):
    assert not judge_all([made_up(**changes)])["tracks"].holds


def test_law_that_does_not_open_is_named():
    check = judge_all([made_up(run="open", refused="frame: missing")])["opens"]
    assert not check.holds
    assert "ur5, pd_plus: frame: missing" in check.found


@pytest.mark.slow
def test_whole_demo_on_two_small_robots(tmp_path, capsys):
    """Real processes, real runs; whatever laws do, all runs are there and the verdict is honest."""
    from torqued.tools.cli.main import main

    path = tmp_path / "found.json"
    command = "demo generalize --quick --robots TwoDofs,go2 --laws pd_plus,balance"
    code = main([*command.split(), "--json", str(path), "--plot", str(tmp_path)])
    found = json.loads(path.read_text())
    assert code == (0 if all(found["claims"].values()) else 1)
    assert {run["robot"] for run in found["runs"]} == {"TwoDofs", "go2"}
    kinds = {(run["law"], run["condition"], run["run"]) for run in found["runs"]}
    assert kinds == {
        *(("pd_plus", "clean", run) for run in ("poses", "rest", "hold", "track", "jump")),
        ("pd_plus", "late", "rest"),
        ("pd_plus", "lab", "shove"),
        *(("pd_plus", "rough", run) for run in ("rest", "hold", "track", "jump")),
        *(("pd_plus", "bare", run) for run in ("rest", "jump")),
        *(("pd_plus", "told", run) for run in ("rest", "track")),
        ("balance", "clean", "poses"),
        *(("balance", name, run) for name in ("clean", "rough") for run in ("hold", "stand")),
        ("balance", "late", "stand"),
        ("balance", "lab", "stop"),
        *(("balance", name, "stand") for name in ("bare", "told")),
    }
    assert (tmp_path / "demo_generalize.png").is_file()
    printed = capsys.readouterr()
    assert "stable" not in printed.err and "without --menagerie" in printed.out


@pytest.mark.slow
def test_process_that_dies_is_an_error_and_not_a_missing_row(monkeypatch):
    monkeypatch.setattr(generalize, "quiet", os.abort)
    with pytest.raises(ProcessError, match="died"):
        generalize.perform([row("TwoDofs")], LAWS, QUICK, Console(quiet=True))


@pytest.mark.slow
def test_robot_that_cannot_be_loaded_is_an_error(monkeypatch):
    with pytest.raises(InputError, match="nowhere"):
        generalize.perform([Row("nowhere", "arm")], LAWS, QUICK, Console(quiet=True))
