"""What is claimed of all laws on all robots, and what the runs say to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torqued.tools.demos.results import Check

Run = dict[str, Any]

#: Laws that follow a moving reference of joints.
TRACKING = ("pd_plus", "computed_torque", "passivity")
OVER_SPEED = 1.1
CHATTER = 0.02
STAYS = 0.1  # rad
STANDS = 0.05  # m, of the center of mass
UNUSABLE = ("SOLVER", "NONFINITE", "FALLBACK")
TRACKS = {"clean": 5e-3, "told": 5e-3, "rough": 20e-3, "file": 20e-3}  # rad RMS
STILL = 0.02  # of the velocity limit
RETURNS = {"shove": 0.02, "learn": 0.01, "stop brake": 0.25, "stop hold": 0.25}  # rad
FOUND = 0.03  # s
FORCE, SLIPS = 0.05, 0.25  # of the wanted force; m/s
#: Runs in which the fallback is meant to act.
STOPPED = ("stop brake", "stop hold", "stop", "freeze")


@dataclass(frozen=True)
class Claim:
    """A plain sentence, the runs that it is about, and the number that must stay below a bound."""

    name: str
    sentence: str
    title: tuple[str, str]  # above its part of the picture: what, and in which unit
    about: Callable[[Run], bool]
    number: Callable[[Run], float]
    bound: Callable[[Run], float]
    shown: Callable[[float], str]  # in the picture, where there is room for four characters
    found: str  # in the report: a format of the number, with its unit

    def holds(self, run: Run) -> bool:
        """A law that refuses to open with its defaults fails; so do NaN and what ran away."""
        lost = run["refused"] or run["ran_away"]
        return not lost and bool(self.number(run) <= self.bound(run))


def standing(run: Run) -> bool:
    return bool(run["kind"] != "arm")


def drift(run: Run) -> float:
    return float("inf") if run["fell"] else run["drift"]


def short(x: float) -> str:
    return f"{x:.1f}" if x < 10 else f"{x:.0f}" if x < 100 else ">99"


CLAIMS = (
    Claim(
        "stable_in_all_poses",
        "in random poses, of robots with legs random stances, with torques 2 ms late, every law "
        "comes to rest",
        ("unstable poses", "share, 2 ms late"),
        lambda run: run["run"] == "poses",
        lambda run: run["unstable"] / run["poses"] if run["poses"] else float("nan"),
        lambda run: 0.0,
        lambda x: f"{100 * x:.0f}%" if x >= 0.01 or x == 0 else "<1%",
        "{:.1%} of poses",
    ),
    Claim(
        "holds_without_reference",
        "a law that is given no reference stays where it is: joints within 0.1 rad, standing "
        "robots within 5 cm",
        ("no reference", "moves by rad, m"),
        lambda run: run["run"] == "hold",
        drift,
        lambda run: STANDS if standing(run) else STAYS,
        lambda x: f"{x:.2f}" if x < 10 else ">9" if x < float("inf") else "fell",
        "{:.3f} rad or m",
    ),
    Claim(
        "chatter_below_2_percent",
        "at rest the fast part of no torque exceeds 2 % of the joint's effort, RMS",
        ("chatter", "at rest, of effort"),
        lambda run: run["run"] in ("rest", "stand"),
        lambda run: run["chatter"],
        lambda run: CHATTER,
        lambda x: f"{100 * x:.0f}%" if x < 1 else ">1",
        "{:.2%} of the effort",
    ),
    Claim(
        "speed_within_110_percent",
        "no joint exceeds its velocity limit by more than 10 %, jumps of 1 rad, pushes, stops with "
        "unknown loads and frozen encoders included",
        ("peak speed", "of its limit"),
        lambda run: run["run"] not in ("poses", "open", "stretch", "singular", "press", "lose"),
        lambda run: run["speed"],
        lambda run: OVER_SPEED,
        short,
        "{:.1%} of the velocity limit",
    ),
    Claim(
        "impedance_through_singularity",
        "impedance stays below velocity limits when its reference goes beyond the arm's reach, and "
        "where the arm is held stretched",
        ("stretched", "speed, of limit"),
        lambda run: run["run"] in ("stretch", "singular"),
        lambda run: run["speed"],
        lambda run: 1.0,
        short,
        "{:.1%} of the velocity limit",
    ),
    Claim(
        "tracks",
        "pd_plus, computed_torque and passivity track within 5 mrad RMS, and within 20 mrad with "
        "friction compensated, noise, 2 ms of delay and masses 10 % wrong; with known rotors as "
        "without",
        ("tracking", "mrad RMS"),
        lambda run: run["run"] == "track" and run["law"] in TRACKING,
        lambda run: run["error"],
        lambda run: TRACKS[run["condition"]],
        lambda x: f"{1e3 * x:.0f}" if x < 10 else ">9999",
        "{:.4f} rad RMS",
    ),
    Claim(
        "stands",
        "wholebody and balance stand on two and four legs, also with friction, noise, 2 ms of "
        "delay and masses 10 % wrong, with rotors, and after a stop, a push and `resume`",
        ("standing", "moves by m"),
        lambda run: run["run"] in ("stand", "stop"),
        drift,
        lambda run: STANDS,
        lambda x: f"{x:.2f}" if x < 100 else "fell",
        "{:.3f} m",
    ),
    Claim(
        "within_joint_ends",
        "no joint goes past its end by more than 0.05 rad",
        ("joint ends", "past by rad"),
        lambda run: run["run"] not in ("poses", "open", "lose"),
        lambda run: run["beyond"],
        lambda run: 0.05,
        short,
        "{:.4f} rad past its end",
    ),
    Claim(
        "torques_are_usable",
        "no run has a status that says there was no torque: SOLVER, NONFINITE, FALLBACK",
        ("status", "no torque"),
        lambda run: run["run"] not in ("poses", "open", "lose", *STOPPED),
        lambda run: float(sum(name in UNUSABLE for name in run["status"])),
        lambda run: 0.0,
        lambda x: "!",
        "{:.0f} of these bits",
    ),
    Claim(
        "comes_to_rest",
        "with rotors that the model lacks, after a push, and with a load that it lacks, also "
        "stopped, joints end below 2 % of their velocity limits",
        ("comes to rest", "speed, of limit"),
        lambda run: (
            run["run"] in RETURNS
            or (run["condition"] == "bare" and run["law"] != "gravity" and not standing(run))
        ),
        lambda run: run["end_speed"],
        lambda run: STILL,
        lambda x: f"{100 * x:.0f}%" if x < 10 else ">9",
        "{:.1%} of the velocity limit",
    ),
    Claim(
        "returns",
        "1.5 s after a push laws of joints are back within 20 mrad; adaptive is, within 10 mrad, "
        "with an unknown load, with which `brake` and `hold` stop within 0.25 rad",
        ("push, load", "off by rad"),
        lambda run: run["run"] in RETURNS and run["law"] != "impedance",
        lambda run: run["error"],
        lambda run: RETURNS[run["run"]],
        short,
        "{:.3f} rad",
    ),
    Claim(
        "finds_frozen_encoders",
        "encoders that repeat themselves in motion are found in 30 ms, and noise at rest is not "
        "taken for that",
        ("frozen", "found after ms"),
        lambda run: run["run"] == "freeze",
        lambda run: run["delay"],
        lambda run: FOUND,
        lambda x: f"{1e3 * x:.0f}" if x < 9 else "no",
        "{:.3f} s",
    ),
    Claim(
        "presses",
        "force control presses within 5 % of the wanted force on a hard plane, and no frame is "
        "faster than 0.25 m/s once the plane is gone",
        ("force", "error, or m/s"),
        lambda run: run["run"] in ("press", "lose"),
        lambda run: run["error"],
        lambda run: FORCE if run["run"] == "press" else SLIPS,
        lambda x: f"{x:.2f}" if x < 10 else ">9",
        "{:.3f} of the force, or m/s",
    ),
)


def judge(claim: Claim, runs: list[Run]) -> Check | None:
    """None where no run is about it."""
    about = [run for run in runs if claim.about(run)]
    if not about:
        return None
    failed = [run for run in about if not claim.holds(run)]
    worst = max(about, key=lambda run: rank(claim, run))
    number = claim.number(worst)
    shown = claim.found.format(number) if math.isfinite(number) else claim.shown(number)
    found = (
        f"{len(failed)} of {len(about)} runs fail; worst {shown} "
        f"({worst['robot']}, {worst['law']}, {worst['condition']})"
    )
    return Check(claim.sentence, found, not failed)


def rank(claim: Claim, run: Run) -> float:
    number = claim.number(run) / max(claim.bound(run), 1e-9)
    return float("inf") if number != number else number


def opened(runs: list[Run]) -> Check:
    refused = [run for run in runs if run["refused"]]
    found = "all open"
    if refused:
        first = "{robot}, {law}: {refused}".format(**refused[0])
        found = f"{len(refused)} do not, first {first}"
    return Check("every law opens with nothing named", found, not refused)


def judge_all(runs: list[Run]) -> dict[str, Check]:
    """By name; claims that no run is about are left out."""
    found = {claim.name: judge(claim, runs) for claim in CLAIMS}
    return {"opens": opened(runs)} | {name: check for name, check in found.items() if check}
