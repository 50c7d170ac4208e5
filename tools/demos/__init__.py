"""Closed loops with independently simulated robots: what `torqued demo` runs.

One module per experiment with `run(args)`, imported when it is chosen. `plant.py` is the simulated
robot, `daemon.py` starts the daemon, `lockstep.py` closes the loop between them.
"""

#: Experiment that runs without a name.
DEFAULT = "live"

#: Experiment → what it shows.
EXPERIMENTS: dict[str, str] = {
    "live": "daemon, simulated robot and controller as processes, in real time (the default)",
    "tracking": "every law on a fast trajectory, its account of energy, and an unknown load",
    "elastic": "springs between motors and links: `elastic` beside `passivity`, also disturbed",
    "push": "pushes detected and located without a force sensor",
    "wall": "pressing on a stiff wall: stable combinations of stiffness and delay",
    "humanoid": "one session from two feet to one foot to hand and foot; pushes until a fall",
    "generalize": "every law with default gains on 28 robots, clean and disturbed",
    "integrators": "a free-floating robot: order, drift of energy and momentum, beside MuJoCo",
}
