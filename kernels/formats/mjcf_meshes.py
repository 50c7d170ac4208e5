"""Meshes of an MJCF model: those are read that inertias need, wherever they are."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torqued.kernels.formats.sandbox import roots
from torqued.kernels.formats.xml_file import quoted

#: Of all meshes that are read.
MAX_BYTES = 500_000_000
KINDS = (".stl", ".obj", ".msh")

#: Stands in for meshes that no inertia needs.
TETRAHEDRON = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@dataclass
class Meshes:
    """Files of meshes by the names that they have in the copy: as it was given, kind, places."""

    files: dict[str, tuple[str, str, list[Path]]] = field(default_factory=dict)

    def renamed(self, given: Mapping[str, str], folders: list[Path], strip: bool) -> dict[str, str]:
        """Attributes of a mesh whose file gets another name."""
        if "file" not in given:
            return {}
        file, basename = given["file"], re.split(r"[/\\]", given["file"])[-1]
        paths = [folder / (basename if strip else file) for folder in folders]
        kind = Path(file).suffix or "." + re.split(r"[/.]", given.get("content_type", ""))[-1]
        name = f"mesh{len(self.files)}.obj"
        self.files[name] = (file, kind.lower(), paths)
        return {"file": name, "name": given.get("name", basename.rsplit(".", 1)[0])}

    def settle(self, spec: Any, mujoco: Any, files: Any) -> list[str]:
        """Add what inertias need to MuJoCo's files; geoms of other meshes become spheres without
        mass. Problems."""
        types, problems = mujoco.mjtGeom, list[str]()
        of_file = (types.mjGEOM_MESH, types.mjGEOM_SDF, types.mjGEOM_HFIELD)
        needed: dict[str, str] = {}
        for body in spec.bodies:
            for geom in body.geoms:
                geom.contype = geom.conaffinity = 0  # collisions would need convex hulls
                if _weighs(body, geom, mujoco):
                    name = f"geom {geom.name!r}" if geom.name else "a geom"
                    where = f"{geom.info}: {name} of body {body.name!r}"
                    needed.setdefault(geom.meshname, where)
                elif geom.meshname or geom.type in of_file:
                    geom.type, geom.size, geom.mass = types.mjGEOM_SPHERE, [1.0, 0.0, 0.0], 0.0
                    geom.meshname, geom.hfieldname, geom.fromto = "", "", [math.nan] * 6
        contents, left = {"unneeded.obj": TETRAHEDRON}, MAX_BYTES
        for mesh in spec.meshes:
            if not mesh.file:
                continue
            given, kind, paths = self.files[mesh.file]
            mesh.file = "unneeded.obj"
            if mesh.name in needed:
                try:
                    data = _read(paths, kind, left)
                except (OSError, ValueError) as error:
                    problems.append(f"{needed[mesh.name]}: mesh {quoted(given)}: {error}")
                    continue
                left -= len(data)
                # MuJoCo remembers meshes by the names of their files.
                name = re.sub("[^A-Za-z0-9]", "_", mesh.name)
                mesh.file = f"{name}-{hashlib.sha256(data).hexdigest()}{kind}"
                contents[mesh.file] = data
        for name, data in contents.items():
            files[name] = data
        return problems


def _read(paths: list[Path], kind: str, left: int) -> bytes:
    """The first file that exists."""
    if kind not in KINDS:
        raise ValueError(f"is not one of {', '.join(KINDS)}")
    for path in paths:
        if path.is_file():
            if not 0 < path.stat().st_size <= left:  # 0: as well files of the system that block
                raise ValueError(f"is empty, or meshes have more than {MAX_BYTES} bytes")
            roots.append(str(path.resolve()))
            return path.read_bytes()
    raise ValueError("no such file, and the inertia needs it" if paths else "a text has no folder")


def _weighs(body: Any, geom: Any, mujoco: Any) -> bool:
    """Whether a body's inertia depends on a geom."""
    how, kinds = body.compiler.inertiafromgeom, mujoco.mjtInertiaFromGeom
    low, high = body.compiler.inertiagrouprange
    return not (
        body.name == "world"
        or how == kinds.mjINERTIAFROMGEOM_FALSE
        or (how == kinds.mjINERTIAFROMGEOM_AUTO and body.explicitinertial)
        or not low <= geom.group <= high
        or geom.mass == 0.0
        or (math.isnan(geom.mass) and geom.density == 0.0)
    )
