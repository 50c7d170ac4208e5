"""What functions of Pinocchio are called here, for those who know them."""

from __future__ import annotations

PINOCCHIO_NAMES = {
    "aba": "forward_dynamics",
    "ccrba": "centroidal_matrix",
    "centerOfMass": "center_of_mass",
    "com": "center_of_mass",
    "computeCentroidalMap": "centroidal_matrix",
    "computeCentroidalMomentum": "centroidal_momentum",
    "computeCoriolisMatrix": "coriolis_matrix",
    "computeFrameJacobian": "frame_jacobian",
    "computeGeneralizedGravity": "gravity",
    "computeJointTorqueRegressor": "regressor",
    "computeKineticEnergy": "energy",
    "computeMinverse": "solve_mass",
    "computePotentialEnergy": "energy",
    "computeTotalMass": "total_mass",
    "constraintDynamics": "contact_dynamics",
    "crba": "mass_matrix",
    "framePlacement": "frame_pose",
    "frameVelocity": "frame_velocity",
    "frames": "frame_names",
    "impulseDynamics": "impact",
    "jacobianCenterOfMass": "center_of_mass_jacobian",
    "names": "joint_names",
    "nle": "bias",
    "nonLinearEffects": "bias",
    "randomConfiguration": "random_state",
    "rnea": "inverse_dynamics",
}
