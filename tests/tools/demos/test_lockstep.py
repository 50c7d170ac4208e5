"""The loop between robot and daemon, with a daemon that is a few lines long."""

from types import SimpleNamespace

import numpy as np
import pytest

from torqued.tools.demos.lockstep import PERIOD, Loop, energy_balance, run_together, step_powers
from torqued.tools.demos.models import PANDA_READY, panda
from torqued.tools.demos.plant import Plant, Push


class CountingSession:
    """Answers each state with its number as torque; older answers come before, as on the wire."""

    def __init__(self):
        self.sent, self.queue = [], []

    def latest(self):
        self.queue.clear()

    def send(self, q, v, at, **references):
        self.sent.append((at, q, v, references))
        number = len(self.sent)
        self.queue += [self.output(number - 1), self.output(number), self.output(number)]
        return number

    def output(self, number):
        tau = np.full(7, 1e-3 * number)
        values = {"tau": tau}
        return SimpleNamespace(sequence=number, status=0, compute=1e-4, tau=tau, values=values)

    def receive(self, timeout, sequence):
        while (output := self.queue.pop(0)).sequence < sequence:
            pass
        return output


class RecordingPlant(Plant):
    """Notes the torques that it is given."""

    def step(self, tau, seconds=1e-3):
        self.__dict__.setdefault("given", []).append(round(1e3 * tau[0]))
        super().step(tau, seconds)


def make(**options):
    plant = RecordingPlant(panda())
    plant.reset(PANDA_READY, np.zeros(7))
    return Loop(plant, CountingSession(), lambda t: {"q_ref": t}, **options)


@pytest.mark.parametrize(
    ("delay", "given"), [(0, [1, 2, 3, 4, 5]), (1, [1, 1, 2, 3, 4]), (3, [1, 1, 1, 1, 2])]
)
def test_torque_of_a_state_comes_as_late_as_asked(delay, given):
    loop = make(delay=delay)
    run_together([loop], 5 * PERIOD)
    assert loop.plant.given == given


def test_states_carry_simulated_time_and_the_references_of_that_time():
    loop = make()
    (log,) = run_together([loop], 4 * PERIOD)
    times = [at for at, *_ in loop.session.sent]
    np.testing.assert_allclose(times, PERIOD * np.arange(4), atol=1e-12)
    assert [references["q_ref"] for *_, references in loop.session.sent] == times
    np.testing.assert_array_equal(log["q"], [q for _, q, *_ in loop.session.sent])


def test_noise_is_measured_and_does_not_move_the_robot():
    quiet, noisy = make(), make(noise=0.1, seed=3)
    logs = run_together([quiet, noisy], 50 * PERIOD)
    np.testing.assert_array_equal(logs[0]["q"], logs[1]["q"])
    measured = np.array([v for _, _, v, _ in noisy.session.sent]) - logs[1]["v"]
    assert measured.std() == pytest.approx(0.1, rel=0.1)


def test_pushes_are_in_the_record():
    force = np.array([0.0, 0.0, -10.0])

    def events(plant, t):
        plant.pushes = [Push("panda_hand", force)] if t > 1.5 * PERIOD else []

    loop = make(events=events)
    (log,) = run_together([loop], 4 * PERIOD)
    assert not log["pushed"][:2].any()
    J = loop.plant.robot.frame_jacobian(log["q"][2], "panda_hand")
    np.testing.assert_allclose(log["pushed"][2], J[3:].T @ force, atol=1e-9)


def damped_spring(dissipated):
    """A log of ẍ = −x − ẋ, V = ½ ẋ² + ½ x², whose law claims to take `dissipated` · ẋ²."""
    t = np.arange(0.0, 5.0, PERIOD)
    root = np.sqrt(3) / 2
    x = np.exp(-t / 2) * np.cos(root * t)
    v = np.exp(-t / 2) * (-0.5 * np.cos(root * t) - root * np.sin(root * t))
    nothing = np.zeros((len(t), 1))
    return {
        "storage": 0.5 * (x**2 + v**2),
        "dissipation": dissipated * v**2,
        "reference_power": np.zeros(len(t)),
        "port": v[:, None],
        "pushed": nothing,
        "touched": nothing,
    }


def test_true_account_of_energy_balances():
    off, flowed = energy_balance(damped_spring(1.0))
    assert abs(off) < 1e-6 * flowed


@pytest.mark.parametrize("dissipated", [0.9, 1.1])
def test_false_account_of_energy_does_not(dissipated):
    off, flowed = energy_balance(damped_spring(dissipated))
    assert off * (dissipated - 1.0) > 0
    assert abs(off) > 0.03 * flowed


def test_external_work_is_force_times_velocity_of_the_port():
    log = damped_spring(1.0)
    log["touched"] = np.full_like(log["port"], 2.0)
    _, terms = step_powers(log)
    expected = 2.0 * PERIOD * 0.5 * (log["port"][1:, 0] + log["port"][:-1, 0])
    np.testing.assert_allclose(terms["external"], expected, rtol=1e-12, atol=1e-15)


def test_what_is_measured_is_chosen_and_time_of_ticks_is_recorded():
    loop = make(measure=lambda plant: {"height": plant.point("panda_hand")[2]})
    (log,) = run_together([loop], 3 * PERIOD)
    assert log["height"].shape == (3,)
    assert "force" not in log
    assert log["compute"].tolist() == [1e-4] * 3
