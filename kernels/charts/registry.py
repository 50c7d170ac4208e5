"""Charts by name."""

from __future__ import annotations

from collections.abc import Callable

from torqued.kernels.charts.base_orientation import BASE_MAPS
from torqued.kernels.charts.center_of_mass import CenterOfMass
from torqued.kernels.charts.chart import Chart, Native, own_joints
from torqued.kernels.charts.jointwise import JointMap, JointwiseChart, native_map
from torqued.kernels.charts.layouts import mujoco_map, pinocchio_map, rbdl_map
from torqued.kernels.charts.user import Custom, CustomChart
from torqued.kernels.input_checks import choice
from torqued.kernels.model.model import JointInfo

#: What `in_coordinates` takes: a name of CHARTS, or the user's own A and Ȧ.
Coordinates = str | Custom


def jointwise(
    map_of: Callable[[JointInfo], JointMap], by_name: bool = False
) -> Callable[[str, Native], Chart]:
    """A map for each joint; joints in the order of the file, or sorted by name below a link."""

    def chart(name: str, robot: Native) -> Chart:
        joints = own_joints(robot.model, robot.model.order_by_name if by_name else None)
        return JointwiseChart(name, robot, [(joint, map_of(joint)) for joint in joints])

    return chart


def base_orientation(name: str, robot: Native) -> Chart:
    """Only the floating base changes: on a fixed base the chart is the native one."""
    maps = [(joint, native_map(joint)) for joint in own_joints(robot.model)]
    if robot.model.base == "floating":
        maps[0] = (maps[0][0], BASE_MAPS[name])
    return JointwiseChart(name, robot, maps)


CHARTS: dict[str, Callable[[str, Native], Chart]] = {
    "native": jointwise(native_map),
    "pinocchio": jointwise(pinocchio_map, by_name=True),
    "mujoco": jointwise(mujoco_map),
    "rbdl": jointwise(rbdl_map, by_name=True),
    "hybrid": base_orientation,
    "rpy": base_orientation,
    "quaternion": base_orientation,
    "rotation_matrix": base_orientation,
    "com": CenterOfMass,
}


def chart_of(robot: Native, coordinates: Coordinates) -> Chart:
    """The chart of a robot; an unknown name is an InputError that lists the known ones."""
    if isinstance(coordinates, Custom):
        return CustomChart(coordinates, robot)
    return CHARTS[choice("coordinates", coordinates, CHARTS)](coordinates, robot)
