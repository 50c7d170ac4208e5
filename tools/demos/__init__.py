"""Closed loops with robots that are not torqued's: what `torqued demo` runs.

One module per experiment with `run(args)`, imported when it is chosen. `plant.py` is the simulated
robot, `daemon.py` starts the daemon, `lockstep.py` closes the loop between them.
"""

#: What runs without a name, and what it shows.
DEFAULT = "live"

#: Experiment → what it shows.
EXPERIMENTS: dict[str, str] = {
    "live": "daemon, simulated robot and controller as processes, in real time (the default)",
    "tracking": "every law on a fast trajectory, its account of energy, and an unknown load",
    "elastic": "springs between motors and links: elastic beside passivity, and disturbed",
    "push": "pushes found, and the pushed link named, without a force sensor",
    "wall": "pressing on a stiff wall: which stiffness and delay leave the contact stable",
    "humanoid": "one session from two feet to one foot to hand and foot; pushes until it falls",
    "generalize": "every law with nothing named on 28 robots, clean and disturbed, as one matrix",
    "integrators": "a free-floating robot: orders, drift of energy and momentum, beside MuJoCo's",
    "identities": "M, C and Γ of a robot, the identities they obey, and timings",
}
