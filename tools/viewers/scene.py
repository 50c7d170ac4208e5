"""The robot in three dimensions, with forces and references as arrows."""

from __future__ import annotations

from typing import Any

import numpy as np
import trimesh
import viser
from numpy.typing import NDArray

from torqued.kernels import Robot
from torqued.kernels.charts.rotation import quaternion_of, rotation
from torqued.kernels.control.wholebody.parsing import contact_points
from torqued.tools.recording.session_layout import SessionInfo
from torqued.tools.viewers.following import frame_poses
from torqued.tools.viewers.shapes import WORLD, Shape

Array = NDArray[np.float64]

#: Length of an arrow that stands for the robot's whole weight, m per m of its height.
WEIGHT = 0.5
#: Length of the least force that is drawn, m per m of the robot's height: 1/500 of its weight.
MIN_LENGTH = 1e-3
#: From what the camera looks at to the camera, and its field of view from top to bottom, rad.
BACK = np.array([0.95, -0.95, 0.45]) / np.linalg.norm([0.95, -0.95, 0.45])
FIELD = np.deg2rad(50.0)
#: Width of the narrowest picture that the robot fits in, relative to its height: between the
#: panels of a window of 1400 × 900.
ASPECT = 0.74
#: Part of the picture that the robot takes at first: it moves.
ROOM = 0.6
MIN_DISTANCE = 0.4  # m
FORCE_COLOR, REFERENCE_COLOR = (230, 60, 50), (40, 130, 230)


class Scene:
    """Shapes of a robot that move with its frames."""

    def __init__(self, server: viser.ViserServer, robot: Robot, shapes: list[Shape]) -> None:
        self.server, self.robot = server, robot
        server.scene.set_up_direction("+z")
        server.scene.add_grid("/ground", width=4.0, height=4.0, cell_size=0.25)
        names = sorted({shape.frame for shape in shapes} - {WORLD})
        self._frames = {name: self._frame(name) for name in names}
        for k, shape in enumerate(shapes):
            parent = f"/robot/{_path(shape.frame)}" if shape.frame else "/robot"
            server.scene.add_mesh_trimesh(
                f"{parent}/shape{k}",
                shape.mesh,
                wxyz=_wxyz(shape.pose[:3, :3]),
                position=shape.pose[:3, 3],
            )
        self._shapes = shapes
        self._size = float(np.linalg.norm(np.ptp(self._corners(robot.neutral()), axis=0)))
        self._weight = robot.total_mass * float(np.linalg.norm(robot.gravity_vector)) or 1.0
        self._light()
        self.look(robot.neutral())
        self._drawn: dict[str, viser.ArrowsHandle] = {}
        self._reference = server.scene.add_frame(
            "/reference",
            axes_length=0.1 * self._size,
            axes_radius=0.004 * self._size,
            visible=False,
        )

    def _light(self) -> None:
        """Lamps alone: reflections of a room, and shadows, are most of what a picture costs a
        browser that has no graphics card."""
        scene = self.server.scene
        scene.configure_default_lights(cast_shadow=False)
        scene.configure_environment_map(hdri=None)
        scene.add_light_ambient("/light", intensity=1.2)

    def look(self, q: Any) -> None:
        """At the robot in a configuration: all viewers, and those that will come."""
        corners = self._corners(q)
        center = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
        cameras: list[Any] = [self.server.initial_camera]
        cameras += [client.camera for client in self.server.get_clients().values()]
        for camera in cameras:
            camera.position = center + distance_to_fit(corners - center) * BACK
            camera.look_at = center
            camera.fov = FIELD

    def move(self, q: Any) -> None:
        """To a configuration (nq,)."""
        poses = frame_poses(self.robot, q, self._frames)
        with self.server.atomic():
            for name, node in self._frames.items():
                position, turn = poses[name]
                node.position = position
                node.wxyz = turn[[3, 0, 1, 2]]

    def show_forces(self, info: SessionInfo, tick: Any) -> None:
        """Contact forces as arrows, from where they act."""
        forces = np.asarray(tick["force"]) if "force" in (tick.dtype.names or ()) else None
        points = self._contact_points(info, tick["q"]) if forces is not None else []
        if forces is None or len(points) != len(forces):
            self._hide("/forces")
            return
        arrows = forces * WEIGHT * self._size / self._weight
        carries = np.linalg.norm(arrows, axis=1) > MIN_LENGTH * self._size
        starts = np.array(points)[carries]
        self._arrows("/forces", starts, starts + arrows[carries], FORCE_COLOR)

    def show_reference(self, info: SessionInfo, tick: Any) -> None:
        """Where a frame is to go: its axes there, and an arrow to it."""
        names = tick.dtype.names or ()
        frame = info.raw.get("options", {}).get("frame")
        if "position" not in names or not frame or not np.all(np.isfinite(tick["position"])):
            self._hide("/way")
            self._reference.visible = False
            return
        turn = tick["orientation"] if "orientation" in names else np.array([0.0, 0.0, 0.0, 1.0])
        here = self.robot.frame_pose(tick["q"], frame)[:3, 3]
        self._reference.position = tick["position"]
        self._reference.wxyz = np.asarray(turn)[[3, 0, 1, 2]]
        self._reference.visible = True
        self._arrows("/way", here[None], tick["position"][None], REFERENCE_COLOR)

    def _contact_points(self, info: SessionInfo, q: Any) -> list[Array]:
        """In the world: points of contacts in the order of their forces."""
        found: list[Array] = []
        for contact in info.raw.get("options", {}).get("contacts") or ():
            pose = self.robot.frame_pose(q, contact["frame"])
            points = contact_points(contact["frame"], contact)
            found += list(points @ pose[:3, :3].T + pose[:3, 3])
        return found

    def _arrows(self, name: str, starts: Array, ends: Array, color: tuple[int, int, int]) -> None:
        """Those that are there already are moved: a browser is quicker at that."""
        points = np.stack([starts, ends], axis=1).astype(np.float32)
        if not len(points):
            self._hide(name)
            return
        if name in self._drawn and len(self._drawn[name].points) == len(points):
            self._drawn[name].points = points
            self._drawn[name].visible = True
            return
        radius = 0.006 * self._size
        self._drawn[name] = self.server.scene.add_arrows(
            name,
            points,
            color,
            shaft_radius=radius,
            head_radius=2.5 * radius,
            head_length=5.0 * radius,
        )

    def _hide(self, name: str) -> None:
        if name in self._drawn:
            self._drawn[name].visible = False

    def _frame(self, name: str) -> viser.FrameHandle:
        return self.server.scene.add_frame(f"/robot/{_path(name)}", show_axes=False)

    def _corners(self, q: Any) -> Array:
        """(n, 3) Those of the boxes around the robot's shapes, in the world."""
        poses = frame_poses(self.robot, q)
        corners = [np.array([[0.0] * 3, [1.0] * 3])] if not self._shapes else []
        for shape in self._shapes:
            position, turn = poses.get(shape.frame, (np.zeros(3), np.array([0.0, 0, 0, 1])))
            box = trimesh.bounds.corners(shape.mesh.bounds)
            local = box @ shape.pose[:3, :3].T + shape.pose[:3, 3]
            corners.append(local @ rotation(turn).T + position)
        return np.concatenate(corners)


def distance_to_fit(points: Array) -> float:
    """m from the camera to the point it looks at, such that all points (n, 3) relative to that
    are in the picture."""
    right = np.cross([0.0, 0.0, 1.0], BACK)
    right /= np.linalg.norm(right)
    half_height = ROOM * np.tan(0.5 * FIELD)
    sideways = np.abs(points @ right) / (ASPECT * half_height)
    upwards = np.abs(points @ np.cross(BACK, right)) / half_height
    return float(np.max(np.maximum(sideways, upwards) + points @ BACK, initial=MIN_DISTANCE))


def _path(name: str) -> str:
    """A frame's name as one part of a path."""
    return name.replace("/", "|")


def _wxyz(R: Array) -> Array:
    quaternion: Array = quaternion_of(R)[[3, 0, 1, 2]]
    return quaternion
