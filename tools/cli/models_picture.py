"""A picture of a robot at its postures: links as lines, joint axes, centers of mass, end frames."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from torqued.kernels import Robot
from torqued.kernels.model.description import USES_AXIS, Array, Description

#: Postures that are drawn, and panels beside each other.
MAX_PANELS, COLUMNS = 6, 3
#: End frames that have their names, where these do not cover each other.
MAX_NAMED = 10
LINK, FIXED, TURN, SLIDE, MASS = "#33415c", "#a8b2c1", "#0077b6", "#e07a00", "#c1121f"
AXES = ("#d62728", "#2ca02c", "#1f77b4")
#: Parallel projection from the front, the right and above: rows are right and up in the picture.
_AZIMUTH, _ELEVATION = math.radians(-50.0), math.radians(20.0)
_TOWARDS = np.array([math.cos(_AZIMUTH), math.sin(_AZIMUTH)]) * math.sin(_ELEVATION)
VIEW = np.array(
    [[-math.sin(_AZIMUTH), math.cos(_AZIMUTH), 0.0], [*-_TOWARDS, math.cos(_ELEVATION)]]
)


def draw(robot: Robot, description: Description, path: Path) -> None:
    postures = {name: robot.posture(name) for name in robot.postures[:MAX_PANELS]}
    postures = postures or {"neutral": robot.neutral()}
    columns = min(len(postures), COLUMNS)
    rows = -(-len(postures) // columns)
    size = (5.5 * columns, 5.5 * rows + 0.6)
    figure = Figure(size, dpi=150, facecolor="white", layout="constrained")
    for k, (name, q) in enumerate(postures.items(), start=1):
        poses = {link.name: robot.frame_pose(q, link.name) for link in description.links}
        axes: Any = figure.add_subplot(rows, columns, k, title=name, aspect="equal", frame_on=False)
        axes.set(xticks=[], yticks=[])
        _draw_robot(axes, description, poses, robot.gravity_vector)
    figure.suptitle(description.name)
    handles = [
        Line2D([], [], color=LINK, linewidth=3, label="link"),
        Line2D([], [], color=FIXED, linewidth=1.5, label="fixed link"),
        Line2D([], [], color=TURN, linewidth=2, label="axis of a turn"),
        Line2D([], [], color=SLIDE, linewidth=2, label="of a slide"),
        Line2D([], [], color=MASS, marker="o", linestyle="", alpha=0.4, label="center of mass"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
    FigureCanvasAgg(figure)
    figure.savefig(path, format="png", bbox_inches="tight")


def _draw_robot(
    axes: Any, description: Description, poses: dict[str, Array], gravity: Array
) -> None:
    def line(start: Array, along: Array, color: str, width: float, order: int) -> None:
        ends = np.array([start, start + along]) @ VIEW.T
        axes.plot(*ends.T, color=color, linewidth=width, zorder=order, solid_capstyle="round")

    points = np.array([pose[:3, 3] for pose in poses.values()]) @ VIEW.T
    low, high = points.min(axis=0), points.max(axis=0)
    size = max(float((high - low).max()), 0.05)
    for joint in description.joints:
        start, end = poses[joint.parent][:3, 3], poses[joint.child][:3, 3]
        color, width = (FIXED, 1.5) if joint.type == "fixed" else (LINK, 3.5)
        line(start, end - start, color, width, 2)
        if joint.type == "fixed":
            continue
        color = SLIDE if joint.type == "prismatic" else TURN
        if joint.type in USES_AXIS:
            reach = 0.04 * size * poses[joint.child][:3, :3] @ joint.axis
            line(end - reach, 2.0 * reach, color, 2.0, 4)
        axes.plot(*(VIEW @ end), "o", color=color, markersize=4, zorder=4)
    parents = {joint.parent for joint in description.joints}
    masses = {link.name: link.inertia for link in description.links if link.inertia.mass > 0.0}
    most = max((inertia.mass for inertia in masses.values()), default=1.0)
    for name, inertia in masses.items():
        at = poses[name][:3, :3] @ inertia.com
        center = VIEW @ (at + poses[name][:3, 3])
        if name not in parents:  # the link of the last joint ends where its mass is
            line(poses[name][:3, 3], at, LINK, 2.0, 2)
        area = 500.0 * (inertia.mass / most) ** (2.0 / 3.0)  # as of a ball
        axes.scatter(*center, s=area, color=MASS, alpha=0.3, linewidth=0, zorder=3)
    named: list[Array] = []
    for name, pose in poses.items():
        if name in parents:
            continue
        for k, color in enumerate(AXES):
            line(pose[:3, 3], 0.05 * size * pose[:3, k], color, 1.2, 5)
        at = VIEW @ pose[:3, 3]
        covers = [bool(np.all(np.abs(at - other) < (0.3 * size, 0.05 * size))) for other in named]
        if not any(covers) and len(named) < MAX_NAMED:
            named.append(at)
            axes.annotate(name, at, (6, -6), textcoords="offset points", fontsize=7, zorder=6)
    _draw_measures(axes, gravity, low - 0.1 * size, high + 0.05 * size, size)


def _draw_measures(axes: Any, gravity: Array, low: Array, high: Array, size: float) -> None:
    """A bar as a scale, and where the world's axes and gravity point to."""
    scale = 10.0 ** math.floor(math.log10(size / 2.0))
    scale *= max(factor for factor in (1.0, 2.0, 5.0) if factor * scale <= size / 2.0)
    x, y = low
    axes.plot([x, x + scale], [y, y], color="black", linewidth=1.5)
    axes.annotate(f"{scale:g} m", (x, y), (0, 4), textcoords="offset points", fontsize=8)
    along = gravity / max(float(np.linalg.norm(gravity)), 1e-300)
    corner = np.array([x - 0.1 * size, high[1]])
    arrows = zip("xyzg", [*np.eye(3), along], [*AXES, "black"], strict=True)
    for name, direction, color in arrows:
        tip = corner + 0.1 * size * VIEW @ direction
        arrow = {"arrowstyle": "->", "color": color, "linewidth": 1.5}
        axes.annotate("", tip, corner, arrowprops=arrow)
        axes.annotate(name, tip + 0.02 * size * VIEW @ direction, color=color, ha="center")
    axes.update_datalim([low - 0.2 * size, high + 0.15 * size])
    axes.autoscale_view()
