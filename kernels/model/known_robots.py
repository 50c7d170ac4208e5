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

#: Rotor inertias by joint, kg m² at the joint. Franka: identified in torque control on an FR3, the
#: Panda's successor with the same effort limits (MuJoCo Menagerie, franka_fr3, CHANGELOG of
#: 2025-04-25); none is published for the Panda itself.
_FRANKA = {f"panda_joint{k}": 0.195 if k < 5 else 0.074 for k in range(1, 8)}
#: Servo STS3215: TheRobotStudio, SO-ARM100, Simulation/SO101/joints_properties.xml.
_SO_ARM = dict.fromkeys(
    ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll"), 0.028
)
#: Rotors and gears of motors 7520-14, 7520-22, 5020 (two of them drive ankles and the waist's roll
#: and pitch) and 4010, from Unitree: mjlab, unitree_g1/g1_constants.py; the same values are in
#: MuJoCo Menagerie, unitree_g1/g1_mjx.xml.
_G1 = {
    f"{part}_joint".replace("?", side): inertia
    for inertia, parts in (
        (0.010178, "waist_yaw ?_hip_pitch ?_hip_yaw"),
        (0.025102, "?_hip_roll ?_knee"),
        (0.0072195, "waist_roll waist_pitch ?_ankle_pitch ?_ankle_roll"),
        (0.0036097, "?_shoulder_pitch ?_shoulder_roll ?_shoulder_yaw ?_elbow ?_wrist_roll"),
        (0.00425, "?_wrist_pitch ?_wrist_yaw"),
    )
    for part in parts.split()
    for side in ("left", "right")
}
#: Those of robots by the names of their files: published ones only. Robots by name have them.
ROTORS: dict[str, dict[str, float]] = {
    "g1_29dof_rev_1_0": _G1,
    "g1_29dof_with_hand_rev_1_0": _G1,
    "panda": _FRANKA,
    "panda_collision": _FRANKA,
    "so100": _SO_ARM,
    "so101": _SO_ARM,
}


def base_of(name: str) -> str:
    """How the robot in a file of example-robot-data is held: `fixed` or `floating`."""
    return "floating" if any(fnmatch.fnmatchcase(name, known) for known in FREE) else "fixed"
