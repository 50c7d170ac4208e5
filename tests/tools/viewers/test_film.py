"""Film strips: the robot is there, in its colours, and moves from picture to picture."""

import numpy as np
import trimesh
from PIL import Image

from torqued.kernels import Robot
from torqued.tools.viewers import film
from torqued.tools.viewers.shapes import Shape, capsules


def test_pictures_differ_where_the_robot_has_moved(tmp_path):
    robot = Robot.family("chain", 4)
    states = [robot.neutral(), robot.neutral(), robot.neutral() + 0.8]
    path = film.save(
        film.strip(robot, capsules(robot), states, [0.0, 1.0, 2.0]), tmp_path / "a/b.png"
    )
    strip = np.asarray(Image.open(path).convert("L"), float)
    assert strip.shape == (film.HEIGHT, 3 * film.WIDTH)
    first, same, moved = (
        strip[40:, k * film.WIDTH : (k + 1) * film.WIDTH] for k in range(3)
    )  # below the times
    assert np.abs(first - same).max() < 20.0  # the edge of a picture alone
    assert (np.abs(first - moved) > 40.0).sum() > 500


def test_what_is_nearer_hides_what_is_behind():
    robot = Robot.family("chain", 1)

    def box(color, at):
        mesh = trimesh.creation.box((0.3, 0.3, 0.3))
        mesh.visual.face_colors = color
        pose = np.eye(4)
        pose[:3, 3] = at
        return Shape("", mesh, pose)

    near, far = film.VIEW * 0.6, -film.VIEW * 0.6
    shapes = [box((255, 0, 0, 255), near), box((0, 0, 255, 255), far)]
    for order in (shapes, shapes[::-1]):
        parts = film.parts_of(order)
        camera = film.Camera(np.zeros(3), 4.0)
        picture = film.picture(robot, parts, robot.neutral(), camera)
        red, _, blue = picture.getpixel((film.WIDTH // 2, film.HEIGHT // 2))
        assert red > 100 and blue == 0
