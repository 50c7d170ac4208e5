"""xacro files: expanded as xacro does it, and what they may not do."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest
import xacro as original
from xacro import substitution_args

from torqued.kernels import ModelError
from torqued.kernels.formats import xacro
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.sources import read_file, read_whole
from torqued.kernels.formats.urdf import read_urdf
from torqued.kernels.formats.urdf_writer import to_urdf

HEAD = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
SEGMENT = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:macro name="segment" params="n mass:=1.0 *place **more">
  <link name="link${n}"><inertial>
    <mass value="${mass}"/>
    <inertia ixx="${mass / 3}" ixy="0" ixz="0" iyy="${mass/3}" iyz="0" izz="${max(mass, 1)}"/>
  </inertial></link>
  <joint name="joint${n}" type="revolute">
    <parent link="link${n - 1}"/><child link="link${n}"/>
    <xacro:insert_block name="place"/><xacro:insert_block name="more"/>
  </joint>
</xacro:macro></robot>
"""
ARM = f"""{HEAD}
<xacro:arg name="segments" default="2"/>
<xacro:arg name="tool" default="false"/>
<xacro:include filename="$(find arm)/urdf/parts/segment.xacro"/>
<xacro:include filename="parts/none.xacro" optional="true"/>
<xacro:property name="cfg" value="${{xacro.load_yaml('parts/arm.yaml')}}"/>
<xacro:property name="limit"><limit lower="-1" upper="1" effort="10" velocity="2"/></xacro:property>
<link name="link0"/>
<xacro:segment n="1" mass="${{cfg.mass}}"><origin xyz="0 0 ${{sin(cfg['turn'])}}"/>
  <more><xacro:insert_block name="limit"/></more></xacro:segment>
<xacro:segment n="2"><origin xyz="${{[0.1 * k for k in range(3)][2]}} 0 $(eval 2 * segments)"/>
  <more><axis xyz="0 0 1"/></more></xacro:segment>
<xacro:if value="$(arg tool)"><xacro:call macro="segment" n="3"><origin rpy="0 ${{pi / 4}} 0"/>
  <more/></xacro:call></xacro:if>
<xacro:unless value="$(arg tool)"><!-- ${{nothing}} --></xacro:unless>
</robot>
"""
FILES = {
    "package.xml": "<package><name>arm</name></package>",
    "urdf/arm.urdf.xacro": ARM,
    "urdf/parts/segment.xacro": SEGMENT,
    "urdf/parts/arm.yaml": "mass: 2.5\nturn: !degrees 90\n",
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    return written(tmp_path / "arm", FILES) / "urdf/arm.urdf.xacro"


@pytest.fixture
def brief(monkeypatch):
    monkeypatch.setattr(xacro, "CPU_SECONDS", 1)


def problem(body: str, folder: Path | None = None) -> str:
    with pytest.raises(ModelError) as caught:
        xacro.expanded(RobotFile(f"{HEAD}\n{body}</robot>", "robot.xacro", folder))
    return str(caught.value)


@pytest.mark.parametrize("arguments", [{}, {"tool": "true"}, {"tool": "1", "segments": "7"}])
def test_robot_is_that_of_xacros_own_expansion(arm, monkeypatch, arguments):
    monkeypatch.setattr(substitution_args, "_eval_find", lambda name: str(arm.parent.parent))
    text = original.process_file(str(arm), mappings=dict(arguments)).toxml()
    ours, theirs = read_file(arm, arguments), read_urdf(RobotFile(text))
    assert len(ours.joints) == (3 if "tool" in arguments else 2)
    assert to_urdf(ours) == to_urdf(theirs)


def test_arguments_that_are_unknown_or_missing_are_named_with_what_is_declared(arm):
    with pytest.raises(
        ModelError, match=r"the substitution argument weight; it declares .* segments, tool"
    ):
        read_file(arm, {"tool": "true", "weight": "3"})
    declares = '<xacro:arg name="size" default="1"/>'
    assert "argument width; it declares the arguments size" in problem(f"{declares}$(arg width)")
    assert "it declares the arguments (none)" in problem("$(arg width)")


def test_file_without_xacro_needs_no_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    plain = written(tmp_path, {"a.xacro": f'{HEAD}<link name="a"/></robot>'}) / "a.xacro"
    assert read_file(plain).links[0].name == "a"
    with pytest.raises(ModelError, match=r"pip install 'torqued\[xacro\]'"):
        read_whole(f"{HEAD}${{1}}</robot>")


@pytest.mark.parametrize("place", ["beside", "ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"])
def test_packages_are_found(tmp_path, monkeypatch, place):
    roots = {"beside": "robots/parts", "ROS_PACKAGE_PATH": "src/parts"}
    root = roots.get(place, "prefix/share/parts")
    files = {f"{root}/package.xml": "<package><name> parts </name></package>"}
    files[f"{root}/a.xacro"] = f'{HEAD}<link name="found"/></robot>'
    files["robots/arm/arm.xacro"] = (
        f'{HEAD}<xacro:include filename="$(find parts)/a.xacro"/></robot>'
    )
    written(tmp_path, files)
    if place != "beside":
        with pytest.raises(ModelError, match=f"'parts' .* not found above .*arm and in .*{place}"):
            read_file(tmp_path / "robots/arm/arm.xacro")
        folder = "src" if place == "ROS_PACKAGE_PATH" else "prefix"
        monkeypatch.setenv(place, f"/nowhere:{tmp_path / folder}")
    assert read_file(tmp_path / "robots/arm/arm.xacro").links[0].name == "found"


def test_package_that_is_installed_as_links_is_read(tmp_path):
    source = written(tmp_path / "src", FILES)
    for name in FILES:
        link = tmp_path / "install/arm" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(source / name)
    assert len(read_file(tmp_path / "install/arm/urdf/arm.urdf.xacro").joints) == 2


def test_folder_without_package_xml_is_no_package(tmp_path):
    """Or $(find etc) would open /etc to the file."""
    written(tmp_path, {"etc/secret.xacro": f"{HEAD}</robot>"})
    (tmp_path / "arm").mkdir()
    assert "'etc' (its package.xml) was not found" in problem("$(find etc)", tmp_path / "arm")


@pytest.mark.parametrize(
    "expression",
    [
        "${[x.__class__ for x in [1]]}",
        "${(lambda: 1).__globals__}",
        "${python.vars(1)}",
        "${python.type(1)}",
        "${'%s'.format(1)}",
        "${[k.gi_frame for k in [(x for x in [1])]]}",
        "${list.mro}",
        "${open('SECRET')}",
        "${__import__('os')}",
        "$(eval [x.__class__ for x in [1]])",
        "$(eval [open][0])",
        "$(env HOME)",
        "$(optenv HOME nothing)",
        "$(command id)",
        "${xacro.load_yaml('SECRET')}",
        "<xacro:include filename='SECRET'/>",
        "<xacro:include filename='SECRET' optional='true'/>",
        "<xacro:include filename='PACKAGE'/>",
        "<xacro:include filename='../secret.xacro'/>",
        "<xacro:include filename='link.xacro'/>",
    ],
)
def test_nothing_outside_of_the_folder_is_in_reach(tmp_path, expression):
    secret = written(tmp_path, {"secret.xacro": f"{HEAD}<link name='plan'/></robot>"})
    (tmp_path / "arm").mkdir()
    (tmp_path / "arm/link.xacro").symlink_to(secret / "secret.xacro")
    (secret / "package.xml").write_text("<package><name>plan</name></package>")
    expression = expression.replace("SECRET", str(secret / "secret.xacro"))
    expression = expression.replace("PACKAGE", str(secret / "package.xml"))
    said = problem(expression, tmp_path / "arm")
    assert "plan" not in said
    reasons = ("not allowed", "not defined", "not read", "allowed:")
    assert any(word in said for word in (*reasons, "may not contain", "Unknown substitution"))


def test_folder_outside_is_not_listed(tmp_path):
    written(tmp_path, {"secret/a.xacro": f"{HEAD}<link name='plan'/></robot>", "arm/b": ""})
    text = f"{HEAD}<xacro:include filename='../secret/*.xacro'/></robot>"
    file = RobotFile(text, "robot.xacro", tmp_path / "arm")
    assert "plan" not in xacro.expanded(file)
    assert any("matched no files" in note for note in xacro.read_xacro(file).notes)


BOMBS = {
    "power": "${10**10**8}",
    "eval": "$(eval 10**10**8)",
    "memory": "${'a' * 10**9}",
    "list": "${[0] * 10**9}",
    "recursion": "<xacro:macro name='a'><xacro:a/></xacro:macro><xacro:a/>",
    "macros": "".join(
        f"<xacro:macro name='a{k}'>{f'<xacro:a{k + 1}/>' * 10}</xacro:macro>" for k in range(12)
    )
    + "<xacro:macro name='a12'><b/></xacro:macro><xacro:a0/>",
    "depth": "<a>" * 5000 + "${1}" + "</a>" * 5000,
    "parentheses": "${" + "(" * 5000 + ")" * 5000 + "}",
    "cycle": "<xacro:include filename='cycle.xacro'/>",
    "pipe": "<xacro:include filename='pipe.xacro'/>",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused(brief, tmp_path, bomb):
    os.mkfifo(tmp_path / "pipe.xacro")
    (tmp_path / "cycle.xacro").write_text(f"{HEAD}{BOMBS['cycle']}</robot>")
    problem(BOMBS[bomb], tmp_path)


def test_entities_are_refused():
    text = f"<!DOCTYPE a [<!ENTITY b 'c'>]>{HEAD}&b;${{1}}</robot>"
    with pytest.raises(ModelError, match="unsafe"):
        xacro.expanded(RobotFile(text, "robot.xacro"))


def test_errors_name_expression_file_and_macro(tmp_path):
    macro = "<xacro:macro name='wheel' params='r'>\n<link name='${1 / r}'/></xacro:macro>"
    (tmp_path / "wheel.xacro").write_text(f"{HEAD}\n{macro}</robot>")
    body = "<xacro:include filename='wheel.xacro'/><xacro:wheel r='0'/>"
    assert "division by zero" in problem(body, tmp_path)
    assert "macro 'wheel'" in problem(body, tmp_path)
    (tmp_path / "bad.xacro").write_text(f"{HEAD}\n${{nothing}}</robot>")
    said = problem("<xacro:include filename='bad.xacro'/>", tmp_path)
    assert f"(file {tmp_path / 'bad.xacro'})" in said
    assert "mismatched tag: line 3" in problem("\n<link name='${1}'>")


def test_text_alone_is_expanded_but_includes_nothing():
    assert read_whole(f"{HEAD}<link name='${{1 + 1}}'/></robot>").links[0].name == "2"
    assert "allowed: none, for a text alone" in problem("<xacro:include filename='a.xacro'/>")


def mutated(text: str, random: random.Random) -> str:
    """The text with some parts left out, doubled, or exchanged for others."""
    words = [*"})'\"<0&é\0", "${", "$(", "/>", "**", "9" * 9, "xacro:"]
    for _ in range(random.randint(1, 2)):
        a, b = sorted(random.randrange(len(text) + 1) for _ in range(2))
        b = min(b, a + random.randint(0, 20))
        part = random.choice(["", text[a:b] * 2, random.choice(words)])
        text = text[:a] + part + text[b:]
    return text


@pytest.mark.parametrize("block", range(2))
def test_mutated_files_give_a_robot_or_one_error(brief, arm, block):
    outcomes = set()
    for seed in range(60 * block, 60 * (block + 1)):
        generator = random.Random(seed)
        name = generator.choice([*FILES][1:])
        written(arm.parent.parent, {**FILES, name: mutated(FILES[name], generator)})
        try:
            outcomes.add(len(read_file(arm).links) > 0)
        except ModelError:
            outcomes.add(None)
    assert outcomes == {True, None}
