"""A copy of an MJCF file for MuJoCo's compiler, which is made for files that its user trusts.

The copy has what rigid bodies need. Includes are in it, from the file's folder alone; sub-models
and meshes have names that only exist in memory, so that MuJoCo itself opens no file. Each line of
the copy has one tag, and its origin is written down: MuJoCo's errors name lines of the original
files.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from torqued.common.errors import ModelError
from torqued.kernels.formats.mjcf_meshes import Meshes
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.xml_file import parse_root, quoted, read_text

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

#: Of all files together; how deep tags may nest.
MAX_FILES, MAX_CHARACTERS, MAX_TAGS, MAX_DEPTH = 100, 10_000_000, 200_000, 300

#: Tags that are kept, that have no effect on how rigid bodies move, that have one which is not
#: read, and that are refused; attributes that are left out or renamed.
KEPT, IDLE, UNREAD, DEFORMABLE, LOST = (
    frozenset(words.split())
    for words in (
        "mujoco compiler option flag default asset mesh model worldbody body inertial joint geom "
        "freejoint site frame replicate attach equality connect weld tendon fixed "
        "spatial pulley actuator general motor position velocity intvelocity orientation pid "
        "damper cylinder muscle dcmotor adhesion keyframe key",
        "visual statistic size texture material skin hfield camera light lengthrange pair config",
        "contact sensor custom extension plugin deformable",
        "flex flexcomp flexstrain flexvert",
        "material texture user plugin instance content_type file meshdir assetdir texturedir "
        "strippath discardvisual usethread",
    )
)
#: The attributes that are kept of these; `plugin`: of an actuator.
ONLY = {
    "option": {"gravity", "density", "viscosity", "wind"},
    "flag": {"gravity"},
    "key": {"name", "qpos"},
    "plugin": {"name", "class", "joint", "jointinparent", "tendon", "site", "gear"}
    | {"forcelimited", "forcerange", "armature", "damping"},
}


def compiled(file: RobotFile, mujoco: Any) -> tuple[Any, str, list[str]]:
    """MuJoCo's model, its name, and notes."""
    copy, told = _Copy(file), list[str]()
    main = copy.model(file.text, file.source, file.folder, ())
    copy.stop()
    if not any("<body" in text for text in copy.texts.values()):
        copy.stop("has no bodies; is it a part that other files include?")
    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(told.append)  # else to a file in the working directory
    try:
        with mujoco.MjVfs() as files, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for name, text in copy.texts.items():
                files[name] = text.encode()
            spec = mujoco.MjSpec.from_string(copy.texts[main], vfs=files)
            copy.stop(*map(copy.translated, copy.meshes.settle(spec, mujoco, files)))
            spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE  # else it simulates
            spec.compiler.usethread = False  # its warnings would wait for this thread
            model = spec.compile(files)
    except (ValueError, RuntimeError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        raise ModelError(file.source, [copy.translated(str(error))]) from None
    finally:
        mujoco.set_mju_user_warning(handler)
    told += [str(warning.message) for warning in caught]
    notes = [copy.translated(text) for text in dict.fromkeys(told)]
    if copy.unread:
        notes.append(f"robot: {', '.join(f'<{tag}>' for tag in sorted(copy.unread))}: not read")
    return model, spec.modelname, notes


@dataclass
class _Model:
    """What a model's text is written with."""

    folder: Path | None
    compilers: list[Element]
    files: dict[Element, str] = field(default_factory=dict)  # of its <model> elements
    out: list[str] = field(default_factory=list)


@dataclass
class _Copy:
    """Texts for MuJoCo, of a file and its sub-models."""

    file: RobotFile
    texts: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)  # where each line of the texts comes from
    meshes: Meshes = field(default_factory=Meshes)
    problems: list[str] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    places: dict[Element, tuple[str, Path | None]] = field(default_factory=dict)  # line, folder
    files: int = 0
    characters: int = 0

    def stop(self, *problems: str) -> None:
        """If there are faults."""
        if self.problems or problems:
            raise ModelError(self.file.source, [*self.problems, *problems])

    def fault(self, element: Element, sentence: str) -> None:
        self.problems.append(f"{self.places[element][0]}: <{element.tag}> {sentence}")

    def translated(self, message: str) -> str:
        """A message of MuJoCo, with lines of the original files."""

        def original(found: re.Match[str]) -> str:
            k = int(found[1]) - 1
            return self.lines[k] if 0 <= k < len(self.lines) else found[0]

        bare = re.sub("^(XML Error: |Error: )+|-[0-9a-f]{64}", "", message)  # hashes of meshes
        return " ".join(re.sub(r"\bline (?:= )?(\d{1,9})\b", original, bare).split())

    def parse(self, text: str, source: str, folder: Path | None) -> Element:
        self.files, self.characters = self.files + 1, self.characters + len(text)
        if self.files > MAX_FILES or self.characters > MAX_CHARACTERS:
            self.stop(f"has more than {MAX_FILES} files or {MAX_CHARACTERS} characters in all")
        root, lines = parse_root(text, source), list[int]()
        parser = expat.ParserCreate()
        parser.StartElementHandler = lambda *_: lines.append(parser.CurrentLineNumber)
        parser.Parse(text, True)
        file = "" if source == self.file.source else f"{source}, "
        for element, line in zip(root.iter(), lines, strict=True):
            self.places[element] = (f"{file}line {line}", folder)
        if len(self.places) > MAX_TAGS:
            self.stop(f"has {len(self.places)} tags, at most {MAX_TAGS} are read")
        return root

    def named_file(self, element: Element, *folders: Path | None) -> Path | None:
        """The file of an <include> or <model>, in the folder of the main file; or a fault."""
        name, top = element.get("file", ""), self.file.folder
        problem = "no such file" if top else "a text has no folder to read files from"
        try:
            for folder in folders if top else ():
                path = ((folder or Path()) / name).resolve()
                if Path(name).is_absolute() or not path.is_relative_to((top or path).resolve()):
                    problem = "outside the folder of the file"
                elif path.is_file() and path.stat().st_size > MAX_CHARACTERS:
                    problem = f"has more than {MAX_CHARACTERS} characters"
                elif path.is_file():
                    return path
        except (OSError, RuntimeError, ValueError) as error:
            problem = f"cannot be read: {error}"
        self.fault(element, f"{quoted(name)}: {problem}")
        return None

    def include(self, parent: Element, base: Path | None, seen: set[Path], depth: int) -> None:
        """Replace each <include> by what its file has."""
        if depth > MAX_DEPTH:
            self.stop(f"{self.places[parent][0]}: tags nest deeper than {MAX_DEPTH}")
        children: list[Element] = []
        for child in parent:
            if child.tag != "include":
                self.include(child, base, seen, depth + 1)
                children.append(child)
            elif path := self.named_file(child, base, self.places[child][1]):
                if path in seen:
                    self.fault(child, f"{quoted(str(path))} is included already")
                    continue
                seen.add(path)
                part = self.parse(read_text(path), str(path), path.parent)
                self.include(part, base, seen, depth + 1)
                children += part
        parent[:] = children

    def model(self, text: str, source: str, folder: Path | None, above: tuple[Path, ...]) -> str:
        """The name of a model's reduced text."""
        root = self.parse(text, source, folder)
        if root.tag != "mujoco":
            self.stop(f"{source}: the root element is <{root.tag}>; that of a model is <mujoco>")
        self.include(root, folder, set(), 0)
        model = _Model(folder, [*root.iter("compiler")])
        for element in root.iter("model"):
            path = self.named_file(element, folder)
            if path in above:
                self.fault(element, f"{quoted(str(path))} contains itself")
            elif path is not None:
                part = self.model(read_text(path), str(path), path.parent, (*above, path))
                model.files[element] = part
        key = f"model{len(self.texts)}.xml"
        model.out.append("\n" * len(self.lines))  # no other text has these numbers of lines
        self.write(root, model)
        self.texts[key] = "".join(model.out)
        return key

    def write(self, element: Element, model: _Model) -> None:
        """The reduced element."""
        tag, given = element.tag, element.attrib
        if tag in UNREAD:
            self.unread.add(tag)
        if not DEFORMABLE.isdisjoint(child.tag for child in element) or tag in DEFORMABLE:
            self.fault(element, "is deformable; only rigid bodies are read")
        elif tag not in KEPT | IDLE | UNREAD:
            self.fault(element, "is unknown")
        allowed = ONLY.get(tag, set(given) - LOST)
        kept = {name: given[name] for name in given if name in allowed and "{" not in name}
        if tag == "plugin" and kept:  # an actuator, whose force is not a multiple of its control
            tag, kept["biastype"] = "general", "affine"
        if tag not in KEPT or (tag == "model" and element not in model.files):
            return
        if tag == "model":
            kept["file"] = model.files[element]
        elif tag == "mesh":
            strip = any(c.get("strippath") == "true" for c in model.compilers)
            meshdir = ""
            for c in model.compilers:
                meshdir = c.get("meshdir", c.get("assetdir", meshdir))
            places = (model.folder and model.folder / meshdir, self.places[element][1])
            kept |= self.meshes.renamed(given, [p for p in places if p], strip)
        words = [tag, *(f"{name}={quoteattr(value)}" for name, value in kept.items())]
        self.lines.append(self.places[element][0])
        model.out.append(f"<{' '.join(words)}>\n")
        for child in element:
            self.write(child, model)
        self.lines.append(self.places[element][0])
        model.out.append(f"</{tag}>\n")
