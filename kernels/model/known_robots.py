"""What is known of the robots of example-robot-data that their files do not say.

A URDF does not say whether its robot is bolted to the world, and is often not called what people
call the robot.
"""

from __future__ import annotations

import fnmatch

#: What people say → the file that is meant. Some are names of files too, without a robot in them.
SHORT_NAMES: dict[str, str] = {
    "franka": "panda",
    "ur3": "ur3_robot",
    "ur5": "ur5_robot",
    "ur10": "ur10_robot",
    "talos": "talos_reduced",
    "g1": "g1_29dof_rev_1_0",
    "hyq": "hyq_no_sensors",
    "romeo": "romeo_small",
    "anymal_b": "anymal_b_simple",
    "anymal_c": "anymal_c_simple",
    "alexander": "alexander_v1.lowerBodyOnly",
    "allegro": "allegro_right_hand",
}

#: Robots that stand on legs or fly, by the names of their files.
FREE = (
    *("a1", "anymal*", "b1", "b1-z1", "go1", "go2", "hyq*", "laikago", "quadruped", "solo*"),
    *("alexander*", "bolt", "centauro", "g1_*", "human", "icub*", "romeo*", "simple_humanoid*"),
    *("talos_full*", "talos_reduced*"),
    *("borinot*", "hextilt*", "iris*", "quadrotor*"),
)

#: Joints of the grippers of arms, by the names of the arms' files, followers too. A controller of
#: the arm does not move them: robots by name have them locked at 0. The Panda's is closed there.
GRIPPERS: dict[str, tuple[str, ...]] = {
    "baxter": (
        *("l_gripper_l_finger_joint", "l_gripper_r_finger_joint"),
        *("r_gripper_l_finger_joint", "r_gripper_r_finger_joint"),
    ),
    "panda": ("panda_finger_joint1", "panda_finger_joint2"),
    "panda_collision": ("panda_finger_joint1", "panda_finger_joint2"),
    "so100": ("gripper",),
    "so101": ("gripper",),
    "talos_left_arm": ("gripper_left_joint",),
    "z1": ("jointGripper",),
}


def base_of(name: str) -> str:
    """How the robot in a file of example-robot-data is held: `fixed` or `floating`."""
    return "floating" if any(fnmatch.fnmatchcase(name, known) for known in FREE) else "fixed"
