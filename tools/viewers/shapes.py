"""What a robot looks like: meshes of its URDF where they are found, else links as capsules."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
import yourdfpy
from numpy.typing import NDArray
from trimesh.visual import TextureVisuals
from trimesh.visual.material import PBRMaterial

from torqued.kernels import Robot
from torqued.kernels.model import catalog

Array = NDArray[np.float64]

#: The frame of what does not move.
WORLD = ""
#: Of a capsule, relative to its length and to the whole robot.
SLENDER, THINNEST = 0.12, 0.012
GREY, WHITE = (150, 158, 168, 255), (255, 255, 255, 255)
#: Folders where packages are, as ROS has them.
PACKAGE_PATHS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")


@dataclass
class Shape:
    """A mesh that moves with a frame."""

    frame: str
    mesh: trimesh.Trimesh
    pose: Array  # (4, 4) in the frame


def shapes_of(robot: Robot, urdf: str, source: Path | None = None) -> tuple[list[Shape], list[str]]:
    """All that is to be drawn, and in words what is left out, which is also logged.

    `source` is where the URDF's text comes from.
    """
    missing: list[str] = []
    found = list(_visuals(urdf, source, missing)) if urdf else []
    missing = list(dict.fromkeys(missing))  # links may share a file
    for words in missing:
        logging.getLogger("torqued").warning("%s", words)
    known = {*robot.frame_names}
    drawn = [shape for shape in found if shape.frame in known]
    return drawn or capsules(robot), missing


def _visuals(urdf: str, source: Path | None, missing: list[str]) -> Iterator[Shape]:
    """Visual shapes of a URDF; `missing` gets in words what is left out."""
    logging.getLogger("yourdfpy").setLevel(logging.ERROR)  # of each mesh that it does not find
    try:
        described = yourdfpy.URDF.load(
            io.BytesIO(urdf.encode()), load_meshes=False, build_scene_graph=False
        ).robot
    except Exception as error:  # whatever it does not like: the robot has been loaded already
        missing.append(f"shapes of the URDF cannot be read: {error!r}")
        return
    colors = {item.name: item.color for item in described.materials if item.color is not None}
    for link in described.links:
        for visual in link.visuals:
            mesh = _mesh(visual.geometry, source, missing)
            if mesh is not None:
                _paint(mesh, visual.material, colors)
                origin = np.eye(4) if visual.origin is None else visual.origin
                yield Shape(link.name, mesh, origin)


def _mesh(geometry: Any, source: Path | None, missing: list[str]) -> trimesh.Trimesh | None:
    if geometry.box is not None:
        return trimesh.creation.box(geometry.box.size)
    if geometry.sphere is not None:
        return trimesh.creation.icosphere(subdivisions=3, radius=geometry.sphere.radius)
    if geometry.cylinder is not None:
        cylinder = geometry.cylinder
        return trimesh.creation.cylinder(cylinder.radius, cylinder.length)
    if geometry.mesh is None:
        return None
    path = find_mesh(geometry.mesh.filename, source)
    if path is None:
        missing.append(f"mesh {geometry.mesh.filename} is not found")
        return None
    try:
        mesh = trimesh.load(path, force="mesh")
    except Exception as error:  # a file of a kind that no installed library reads, or damaged
        missing.append(f"mesh {path} cannot be read: {error}")
        return None
    if geometry.mesh.scale is not None:
        mesh.apply_scale(geometry.mesh.scale)
    return mesh


def find_mesh(name: str, source: Path | None) -> Path | None:
    """A file by the name that a URDF has for it: package://, file:// or a path."""
    if name.startswith("package://"):
        relative = name.removeprefix("package://")
        candidates = [folder / relative for folder in package_folders()]
        # `package://NAME/…` of a package that lies above the URDF.
        if source:
            candidates += [above.parent / relative for above in source.parents]
    else:
        plain = Path(name.removeprefix("file://"))
        candidates = [plain if plain.is_absolute() or not source else source.parent / plain]
    return next((path for path in candidates if path.is_file()), None)


def package_folders() -> list[Path]:
    """Where packages with meshes may be."""
    # PREFIX/share/example-robot-data/robots/NAME_description/… holds them all.
    folders = [
        above.parent
        for path in list(catalog.urdf_files().values())[:1]
        for above in path.parents
        if above.name == "example-robot-data"
    ]
    for variable in PACKAGE_PATHS:
        for entry in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            folders += [Path(entry), Path(entry) / "share"]
    return folders


def _paint(mesh: trimesh.Trimesh, material: Any, colors: Mapping[str, Any]) -> None:
    """The mesh's own colour, else the URDF's, else grey; never metal."""
    visual = mesh.visual
    if visual.kind is None:
        color = getattr(material, "color", None) or colors.get(getattr(material, "name", ""))
        rgba = GREY if color is None else tuple(int(255 * part) for part in color.rgba)
        mesh.visual = _matte(rgba)
    elif visual.kind == "texture":
        if not isinstance(visual.material, PBRMaterial):
            visual.material = visual.material.to_pbr()
        visual.material.metallicFactor = 0.0
    else:
        mesh.visual = _matte(WHITE)
        mesh.visual.vertex_attributes["color"] = visual.vertex_colors


def _matte(rgba: tuple[int, ...]) -> TextureVisuals:
    """A colour that lamps alone light up. Metal, which glTF takes a mesh for unless it says
    otherwise, shows the reflections of a room; the page has none, and it would be black."""
    return TextureVisuals(material=PBRMaterial(baseColorFactor=rgba, metallicFactor=0.0))


def capsules(robot: Robot) -> list[Shape]:
    """A capsule from each body to each that it carries, as they are at the neutral pose."""
    q = robot.neutral()
    frames = frames_of_bodies(robot)
    poses = [robot.frame_pose(q, name) for name in frames]
    points = np.array([np.zeros(3), *(pose[:3, 3] for pose in poses)])
    size = float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    shapes = []
    for body, parent in enumerate(robot.model.bodies["parent"].tolist()):
        if parent < 0 and robot.model.base == "floating":
            continue  # nothing holds it
        end = poses[body][:3, 3]
        base = poses[parent] if parent >= 0 else np.eye(4)
        mesh = _capsule(base[:3, 3], end, size)
        shapes.append(Shape(frames[parent] if parent >= 0 else WORLD, mesh, np.linalg.inv(base)))
    return shapes


def _capsule(start: Array, end: Array, size: float) -> trimesh.Trimesh:
    length = float(np.linalg.norm(end - start))
    radius = max(SLENDER * min(length, 0.3 * size), THINNEST * size)
    mesh = trimesh.creation.capsule(length, radius, count=(12, 16))
    mesh.apply_translation(-mesh.bounds.mean(axis=0))  # versions differ in where they put it
    if length > 0.0:
        mesh.apply_transform(trimesh.geometry.align_vectors((0, 0, 1), end - start))
    mesh.apply_translation(0.5 * (start + end))
    mesh.visual = _matte(GREY)
    return mesh


def frames_of_bodies(robot: Robot) -> list[str]:
    """A frame that moves with each body: its joint's, where there is one of that name."""
    joints = [joint.name for joint in robot.model.joints]
    found: dict[int, str] = {}
    for frame in robot.model.frames:
        if frame.body >= 0 and (frame.body not in found or frame.name == joints[frame.body]):
            found[frame.body] = frame.name
    return [found[body] for body in range(len(robot.model.bodies))]
