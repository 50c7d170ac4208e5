"""A film strip: the robot at a few times of a run, drawn by the processor alone.

Neither a graphics card, a display nor a browser is needed. Triangles are painted from the farthest
to the nearest (the painter's algorithm), each in one colour by how it faces the light. Links that
pierce each other show a seam; for a picture of a robot that is good enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from torqued.kernels import Robot
from torqued.tools.viewers.shapes import WORLD, Shape

Array = NDArray[np.float64]

#: Pixels of one picture, and how much larger it is drawn, for smooth edges.
WIDTH, HEIGHT, FINER = 300, 340, 2
#: From where it is looked at, and from where light comes, in the world.
VIEW = np.array([0.75, -0.85, 0.35])
LIGHT = np.array([0.5, -0.6, 1.0]) / np.linalg.norm([0.5, -0.6, 1.0])
#: Light from everywhere, of 1.
AMBIENT = 0.45
#: Focal length, of a picture's height.
FOCAL = 1.5
GROUND, INK = (214, 218, 224), (90, 90, 90)


@dataclass
class Part:
    """Triangles that move with a frame."""

    frame: str
    corners: Array  # (triangles, 3, 3) m, in the frame
    colors: Array  # (triangles, 3), 0 … 255


@dataclass
class Camera:
    """Looks at `center` from `eye`; `axes` has right, up and backwards in its rows."""

    center: Array
    distance: float

    def __post_init__(self) -> None:
        back = VIEW / np.linalg.norm(VIEW)
        right = np.cross([0.0, 0.0, 1.0], back)
        right /= np.linalg.norm(right)
        self.axes = np.array([right, np.cross(back, right), back])
        self.eye = self.center + self.distance * back

    def project(self, points: Array) -> tuple[Array, Array]:
        """Pixels (…, 2) of a picture that is drawn finer, and depths (…,) in m."""
        seen = (points - self.eye) @ self.axes.T
        depth = -seen[..., 2]
        size = np.array([WIDTH, HEIGHT]) * FINER
        flat = seen[..., :2] / np.maximum(depth, 1e-3)[..., None] * np.array([1.0, -1.0])
        return 0.5 * size + FOCAL * size[1] * flat, depth


def parts_of(shapes: Iterable[Shape]) -> list[Part]:
    parts = []
    for shape in shapes:
        mesh = shape.mesh.copy()
        mesh.apply_transform(shape.pose)
        parts.append(Part(shape.frame, np.asarray(mesh.triangles, float), colors_of(mesh)))
    return parts


def colors_of(mesh: trimesh.Trimesh) -> Array:
    """Of triangles (n, 3): a texture's where it has one, else the material's."""
    visual = mesh.visual
    if isinstance(visual, trimesh.visual.TextureVisuals):
        of_corners = np.asarray(visual.to_color().vertex_colors, float)
        if len(of_corners) == len(mesh.vertices):
            return np.asarray(of_corners[mesh.faces].mean(axis=1)[:, :3])
        return np.tile(np.asarray(visual.material.main_color, float)[:3], (len(mesh.faces), 1))
    return np.asarray(visual.face_colors, float)[:, :3]


def placed(robot: Robot, parts: Sequence[Part], q: Any) -> tuple[Array, Array]:
    """Triangles (n, 3, 3) in the world, and their colours."""
    corners = []
    for part in parts:
        pose = np.eye(4) if part.frame == WORLD else robot.frame_pose(q, part.frame)
        corners.append(part.corners @ pose[:3, :3].T + pose[:3, 3])
    return np.concatenate(corners), np.concatenate([part.colors for part in parts])


def camera_for(robot: Robot, parts: Sequence[Part], states: Iterable[Any]) -> Camera:
    """One from which every state is seen whole."""
    points = np.concatenate([placed(robot, parts, q)[0].reshape(-1, 3) for q in states])
    lower, upper = points.min(axis=0), points.max(axis=0)
    return Camera(0.5 * (lower + upper), 1.25 * max(float(np.linalg.norm(upper - lower)), 0.1))


def picture(robot: Robot, parts: Sequence[Part], q: Any, camera: Camera) -> Image.Image:
    """The robot at `q`, on the ground."""
    image = Image.new("RGB", (WIDTH * FINER, HEIGHT * FINER), "white")
    draw = ImageDraw.Draw(image)
    _draw_ground(draw, camera)
    corners, colors = placed(robot, parts, q)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    towards = np.einsum("ij,ij->i", normals, camera.eye - corners.mean(axis=1))
    flat, depth = camera.project(corners)
    faces = (towards > 0.0) & (depth.min(axis=1) > 1e-3)
    flat, depth, normals, colors = (a[faces] for a in (flat, depth, normals, colors))
    lengths = np.linalg.norm(normals, axis=1)
    facing = np.maximum(normals @ LIGHT / np.maximum(lengths, 1e-30), 0.0)
    shaded = (colors * (AMBIENT + (1.0 - AMBIENT) * facing)[:, None]).astype(int)
    for k in np.argsort(-depth.mean(axis=1)).tolist():
        draw.polygon([tuple(xy) for xy in flat[k].tolist()], fill=tuple(shaded[k].tolist()))
    return image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)


def _draw_ground(draw: ImageDraw.ImageDraw, camera: Camera) -> None:
    step = 0.25 if camera.distance > 0.8 else 0.1
    reach = step * 5
    for k in np.arange(-reach, reach + 0.5 * step, step):
        for line in ([[k, -reach, 0.0], [k, reach, 0.0]], [[-reach, k, 0.0], [reach, k, 0.0]]):
            ends, depth = camera.project(np.array(line))
            if depth.min() > 0.1:
                draw.line([tuple(xy) for xy in ends.tolist()], fill=GROUND, width=FINER)


def strip(
    robot: Robot, shapes: Iterable[Shape], states: Sequence[Any], times: Sequence[float]
) -> Image.Image:
    """Pictures side by side, each with its time in s."""
    parts = parts_of(shapes)
    camera = camera_for(robot, parts, states)
    film = Image.new("RGB", (WIDTH * len(states), HEIGHT), "white")
    font = ImageFont.load_default(16)
    for k, (q, time) in enumerate(zip(states, times, strict=True)):
        film.paste(picture(robot, parts, q, camera), (k * WIDTH, 0))
        ImageDraw.Draw(film).text((k * WIDTH + 12, 10), f"{time:.1f} s", fill=INK, font=font)
    return film


def save(film: Image.Image, path: Path) -> Path:
    """Write it; the folder is made where it does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    film.quantize(128).save(path, optimize=True)
    return path
