"""Other libraries beside a batch of τ, where they are installed: rows of `torqued bench batch`.

dynibo (Rust) is called state by state, as Pinocchio is; frax (JAX) compiles one call for all states
and runs it on the processor's cores. Results are compared before anything is timed; what differs is
left out with a word.
"""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from torqued.benchmarks.batch_contenders import TOLERANCE, Block, chain
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.families import family

#: (q, v, a), each (N, nv) → τ (N, nv).
Torques = Callable[[Any, Any, Any], Any]


def dynibo(file: Path, names: list[str]) -> Torques:
    robot = importlib.import_module("dynibo").Robot.from_urdf(str(file))

    def torques(q: Any, v: Any, a: Any) -> Any:
        out = np.empty_like(v)
        for k in range(len(q)):
            robot.inverse_dynamics(q[k], v[k], a[k], out=out[k])
        return out

    return torques


def frax(file: Path, names: list[str]) -> Torques:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    robot = importlib.import_module("frax").Robot(str(file), joint_ordering=names)
    up = np.array(UPWARD)
    compiled = jax.jit(jax.vmap(lambda q, v, a: robot.rnea(q, v, a, up, None)))
    return lambda q, v, a: np.asarray(compiled(q, v, a).block_until_ready())


#: The world's acceleration that stands for gravity, for frax: linear before angular.
UPWARD = (0.0, 0.0, 9.81, 0.0, 0.0, 0.0)

#: frax wants every link to have a mass; that of the base is in no torque.
BASE = '<link name="base" />'
HEAVY_BASE = (
    '<link name="base"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" '
    'iyz="0" izz="1"/></inertial></link>'
)

#: Module → how it is asked.
PEERS: dict[str, Callable[[Path, list[str]], Torques]] = {"dynibo": dynibo, "frax": frax}


def rows(states: int) -> Iterator[tuple[str, str, dict[str, Block]]]:
    """For each: its name, a word about it, and the two ways; none where it is left out."""
    robot, q, v = chain(states)
    a = np.random.default_rng(1).normal(size=v.shape)
    batch, out = robot.batch(threads=1), np.empty_like(v)
    still = np.zeros_like(v)
    expected = robot.batch().inverse_dynamics(q, v, a) - robot.batch().gravity(q)

    def ours() -> int:
        batch.inverse_dynamics(q, v, a, out=out)
        return states

    for name, prepare in PEERS.items():
        if importlib.util.find_spec(name) is None:
            yield name, f"{name} is left out: it is not installed (pip install {name})", {}
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "chain20.urdf")
            file.write_text(to_urdf(family("chain", 20)).replace(BASE, HEAVY_BASE))
            torques = prepare(file, list(robot.joint_names))
        # Without gravity, whose constant is not the same in all of them.
        found = torques(q, v, a) - torques(q, still, still)
        difference = np.abs(found - expected).max() / np.abs(expected).max()
        if not difference <= TOLERANCE:
            yield name, f"{name} is left out: its torques differ by {difference:.1e}", {}
            continue

        def theirs(torques: Torques = torques) -> int:
            torques(q, v, a)
            return states

        yield (
            name,
            f"rnea_{name}: beside {name}'s inverse dynamics",
            {
                "torqued": ours,
                name: theirs,
            },
        )
