"""The daemon's configuration: files, environment, command line, and all faults in one report."""

import argparse
import os
import re
import warnings
from pathlib import Path

import pytest

from torqued.kernels import InputError, ModelWarning
from torqued.kernels.control.laws import LAWS
from torqued.kernels.robot.options import KEYS, SAME_AS_MODEL
from torqued.server import config as configuration
from torqued.server.config import Config, ConfigError, RobotConfig, load_config
from torqued.server.kernels_needed import needed, others
from torqued.server.loop import realtime
from torqued.tools.cli.main import main
from torqued.tools.cli.options import add_robot, robot_settings

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.toml"))


@pytest.fixture
def written(tmp_path):
    """Writes a configuration and returns its path."""

    def write(text):
        path = tmp_path / "robot.toml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_configurations_of_the_repository_load_their_robots(path):
    config = load_config(path, {}, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # harmless faults of published files
        assert config.robot.load().nv > 0
    assert config.name == path.stem


def test_commented_configuration_names_every_key():
    (panda,) = [path for path in CONFIGS if path.stem == "panda"]
    named = set(re.findall(r"^(?:# )?(\w+) = ", panda.read_text(), re.MULTILINE))
    named |= set(re.findall(r"^(?:# )?\[+(?:robot\.)?(\w+)\]", panda.read_text(), re.MULTILINE))
    keys = set(Config.model_fields) | set(KEYS) - set(SAME_AS_MODEL)
    assert keys <= named


@pytest.mark.parametrize(
    ("lines", "locked"),
    [
        ('model = "panda"', {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}),
        ('model = "panda"\nlocked = []', {}),
        ('model = "panda"\nlocked = ["panda_joint1"]', {"panda_joint1": 0.0}),
        ('family = "chain"\ndofs = 3\nlocked = { joint_2 = 0.5 }', {"joint_2": 0.5}),
        ('model = "chain3"\nlocked = { joint_2 = 0.5 }', {"joint_2": 0.5}),
    ],
)
def test_joints_are_locked_as_the_configuration_says_or_the_name_implies(written, lines, locked):
    robot = load_config(written(f"[robot]\n{lines}\n"), {}, {}).robot.load()
    assert robot.locked == locked


@pytest.mark.parametrize(
    ("text", "locked"),
    [
        ("", {}),
        ("panda_joint1", {"panda_joint1": 0.0}),
        ("panda_joint2=-0.5, panda_joint1", {"panda_joint1": 0.0, "panda_joint2": -0.5}),
    ],
)
def test_command_line_locks_joints(text, locked):
    parser = argparse.ArgumentParser()
    add_robot(parser)
    args = parser.parse_args(["--robot", "panda", "--locked", text])
    assert load_config(None, robot_settings(args), {}).robot.load().locked == locked


def test_wrong_joints_to_lock_are_told_in_one_report(capsys):
    options = ["serve", "--robot", "panda", "--locked"]
    assert main([*options, "panda_joint1=9,panda_jont2"]) == 2
    error = capsys.readouterr().err
    assert "joint 'panda_joint1': locked at 9.0, outside its limits -2.8973 to 2.8973" in error
    assert "locked: joint 'panda_jont2' is unknown; did you mean 'panda_joint2'" in error
    assert main([*options, "panda_joint1=fast"]) == 2
    assert "--locked panda_joint1=fast: could not convert" in capsys.readouterr().err
    assert main(["serve", "--config", "panda.toml", "--locked", "panda_joint1"]) == 2
    assert "remove --robot, --base, --locked and --arg" in capsys.readouterr().err


def test_command_line_is_above_the_environment_above_the_file(written):
    path = written('rate = 200\npriority = 10\nname = "a"\n[robot]\nmodel = "chain3"\n')
    environment = {"TORQUED_RATE": "300", "TORQUED_PRIORITY": "20", "TORQUED_LOCK_MEMORY": "true"}
    config = load_config(path, {"rate": "400"}, environment)
    assert (config.rate, config.priority, config.name) == (400.0, 20, "a")
    assert config.lock_memory is True


def test_laws_that_are_named_are_compiled_before_the_daemon_is_ready(written):
    path = written('laws = ["passivity"]\n[robot]\nmodel = "chain3"\n')
    assert load_config(path, {}, {}).laws == ("passivity",)
    given = load_config(path, {"laws": "impedance, wholebody"}, {}).laws
    assert given == ("impedance", "wholebody")
    entries = [LAWS[law].entry for law in given]
    assert set(entries) <= set(needed(given)) and not set(entries) & set(others(given))
    assert set(entries) <= set(others()) and not set(entries) & set(needed())
    assert sorted(needed(given) + others(given)) == sorted(needed() + others())


def test_empty_and_foreign_variables_do_not_matter(written):
    path = written('[robot]\nmodel = "chain3"\n')
    environment = {"TORQUED_RATE": "", "TORQUED_SERVICE_HOST": "x", "TORQUED_CACHE_DIR": "y"}
    assert load_config(path, {}, environment).rate == 1000.0


def test_all_faults_come_in_one_report(written):
    path = written(
        'rate = 9\npriority = "high"\ncolour = "red"\nname = "a/b"\n'
        '[robot]\nmodel = "pnda"\nbase = "flying"\nwheels = 3\n'
    )
    with pytest.raises(ConfigError) as caught:
        load_config(path, {"fade": "-1"}, {"TORQUED_CPU": "first"})
    report = "\n".join(caught.value.problems)
    for words in (
        "key 'rate' is 9, expected a number from 100 to 2000",
        "key 'priority' is 'high', expected a whole number from 0 to 99",
        "key 'colour' is unknown; known: 'robot', 'name', ",
        "key 'name' is 'a/b', expected letters, digits, _ and -",
        "robot 'pnda' is not known; did you mean panda?",
        "key 'robot.base' is 'flying', expected one of 'fixed', 'floating'",
        "key 'robot.wheels' is unknown; known: 'model', 'urdf', ",
        "key 'cpu' is 'first' (from TORQUED_CPU), expected a whole number of at least 0",
        "--fade is '-1', expected a number from 0 to 10",
    ):
        assert words in report
    assert len(caught.value.problems) == 9
    assert str(caught.value).startswith(f"{path}: 9 problems\n  - ")


@pytest.mark.parametrize(
    "robot, problem",
    [
        ("", "exactly one of 'model' and 'family'"),
        ('model = "chain3"\nfamily = "chain"\ndofs = 3', "exactly one of"),
        ('family = "chain"', "'family' and 'dofs' require each other"),
        ('urdf = "none.urdf"', "no such file"),
    ],
)
def test_robot_has_one_source(written, robot, problem):
    with pytest.raises(ConfigError, match=problem):
        load_config(written(f"[robot]\n{robot}\n"), {}, {})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('rate = "1000"', "key 'rate' is '1000', expected a number from 100 to 2000"),
        ("rate = true", "key 'rate' is True, expected a number from 100 to 2000"),
        ('lock_memory = "yes"', "key 'lock_memory' is 'yes', expected true or false"),
        ("rates = 500", "key 'rates' is unknown; did you mean 'rate'?"),
        ("folder = 3", "key 'folder' is 3, expected a text"),
        ("session_ports = 3", "key 'session_ports' is 3, expected first and last port"),
        ('fallback = "x"', "'x', expected one of 'brake', 'hold', 'gravity', 'zero'"),
        ("request_rate = 0", "key 'request_rate' is 0, expected a number of at least 1"),
        (
            "[robot]\ngravity = [1, 2]",
            "key 'robot.gravity' is [1, 2], expected a list of three num",
        ),
        ("[robot]\ntool = 3", "key 'robot.tool' is 3, expected a table, or a list of tables"),
        ('[robot]\nseed = "1"', "key 'robot.seed' is '1', expected a whole number"),
        ("[robot]\nmodle = 1", "key 'robot.modle' is unknown; did you mean 'model'?"),
    ],
)
def test_value_is_named_with_what_is_allowed(written, text, problem):
    robot = "" if "[robot]" in text else "[robot]\n"
    with pytest.raises(ConfigError) as caught:
        load_config(written(f'{text}\n{robot}model = "chain3"\n'), {}, {})
    (sentence,) = caught.value.problems
    assert problem in sentence


def test_robot_is_a_table(written):
    with pytest.raises(ConfigError, match=r"key 'robot' is 'panda', expected a table, such as "):
        load_config(written('robot = "panda"'), {}, {})


def test_sources_and_values_of_a_robot_are_refused_together(written):
    text = 'listen = "x"\nplain_tcp = true\n[robot]\nbase = "x"\nfamily = "chain"\nmodel = "chain3"'
    with pytest.raises(ConfigError) as caught:
        load_config(written(text), {}, {})
    problems = caught.value.problems
    assert [sentence.split("'")[1] for sentence in problems] == ["robot", "robot.base", "listen"]


def test_missing_robot_and_bad_toml_are_reported(written, tmp_path):
    with pytest.raises(ConfigError, match="key 'robot' is missing"):
        load_config(written("rate = 500"), {}, {})
    with pytest.raises(ConfigError, match="cannot be read as TOML"):
        load_config(written("rate = = 500"), {}, {})
    with pytest.raises(ConfigError, match="no such file"):
        load_config(tmp_path / "none.toml", {}, {})


def test_urdf_is_beside_its_configuration(written, tmp_path):
    (tmp_path / "arm.urdf").write_text(
        '<robot name="arm.v2"><link name="a"/><joint name="j" type="revolute"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        '<link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    text = '[robot]\nurdf = "arm.urdf"\ngravity = [0, 0, -1]\n[robot.armature]\nj = 2.0\n'
    config = load_config(written(text), {}, {})
    robot = config.robot.load()
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(3.0)
    assert robot.gravity_vector.tolist() == [0.0, 0.0, -1.0]
    assert config.socket_name(robot) == "arm_v2"  # a dot would part the names of sockets


def test_stale_time_follows_the_rate(written):
    config = load_config(written('rate = 500\nstale_ticks = 4\n[robot]\nmodel = "chain3"'), {}, {})
    assert config.safety.stale_after == pytest.approx(0.008)


def test_every_documented_default_is_the_default():
    (panda,) = [path for path in CONFIGS if path.stem == "panda"]
    shown = load_config(panda, {}, {})
    plain = Config(robot=RobotConfig({"model": "panda"}))
    for key in ("rate", "stale_ticks", "hold", "fade", "priority", "abandon_after"):
        assert getattr(shown, key) == getattr(plain, key)
    commented = re.findall(r"^# (\w+) = ([^#]+?)\s+#", panda.read_text(), re.MULTILINE)
    found = {key: value for key, value in commented}
    assert found["abandon_after"] == str(plain.abandon_after)
    assert found["priority"] == str(plain.priority)


@pytest.mark.parametrize(
    "arguments, problem",
    [
        ([], "no robot given: use --robot or --config"),
        (["--config", "x.toml", "--robot", "panda"], "--config names the robot already"),
        (["--robot", "chain3", "--rate", "1"], "--rate is '1', expected a number from 100 to 2000"),
        (["--urdf", "/none.urdf"], "error: --robot: robot '/none.urdf': no such file"),
        (["--robot", "Panda"], "error: --robot: robot 'Panda' is not known; did you mean panda"),
        (
            ["--robot", "chain3", "--rate", "1", "--cpu", "x"],
            "configuration: 2 problems\n  - --rate",
        ),
    ],
)
def test_serve_reports_wrong_options_with_exit_code_2(capsys, arguments, problem):
    assert main(["serve", *arguments]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("from_file", [True, False])
def test_serve_refuses_a_processor_that_the_machine_does_not_have(
    written, capsys, monkeypatch, from_file
):
    def load(self):
        raise InputError("it went on to load the robot")

    monkeypatch.setattr(RobotConfig, "load", load)
    monkeypatch.setattr(realtime, "processors", lambda: {0, 2})
    file = written('cpu = 99\n[robot]\nmodel = "chain3"\n')
    given = ["--config", str(file)] if from_file else ["--robot", "chain3", "--cpu", "99"]
    assert main(["serve", *given]) == 2
    problem = "cpu is 99, expected a processor of this machine: 0, 2"
    assert problem in capsys.readouterr().err
    assert main(["serve", "--robot", "chain3", "--cpu", "2"]) == 2
    assert "it went on" in capsys.readouterr().err


def test_processors_are_read_as_linux_lists_them():
    assert realtime.processors("0-3,8,10-11\n") == {0, 1, 2, 3, 8, 10, 11}
    assert os.sched_getaffinity(0) <= realtime.processors()


@pytest.mark.parametrize(
    "file, text, problem",
    [
        ("arm.xml", "<mujoco/>", "arm.xml: 1 problem\n  - has no bodies"),
        ("arm.urdf.xacro", '<robot name="${name}"/>', "name 'name' is not defined; when eval"),
        ("arm.d", None, "is a directory"),
    ],
)
def test_serve_says_what_a_file_is_that_is_not_urdf(
    capsys, tmp_path, monkeypatch, file, text, problem
):
    monkeypatch.chdir(tmp_path)
    Path(file).mkdir() if text is None else Path(file).write_text(text)
    for option in ("--urdf", "--robot"):
        if text is not None or option == "--urdf":
            assert main(["serve", option, file]) == 2
            assert problem in capsys.readouterr().err


def test_folder_by_default_is_the_clients(monkeypatch):
    monkeypatch.setenv("TORQUED_FOLDER", "/run/x")
    config = Config(robot=RobotConfig({"model": "chain3"}))
    assert config.socket_folder == configuration.default_folder() == Path("/run/x")


@pytest.mark.parametrize(
    "text, words",
    [
        ('listen = "5550"', r"key 'listen': endpoint '5550' is not tcp://HOST:PORT"),
        ('listen = "ipc:///a"', "is not tcp://HOST:PORT"),
        ("plain_tcp = true", "key 'plain_tcp': requires 'listen'"),
        ("session_ports = [9, 5]", r"invalid port range \[9, 5\]"),
        ('session_ports = "a-b"', "session_ports"),
        ('laws = ["passivity", "nod"]', "unknown law 'nod' .choose from .*impedance"),
        ("request_rate = 0", "request_rate"),
        ("sessions_per_client = 0", "sessions_per_client"),
    ],
)
def test_settings_of_the_network_that_make_no_sense_are_refused(written, text, words):
    with pytest.raises(ConfigError, match=words):
        load_config(written(f'{text}\n[robot]\nmodel = "chain3"\n'), {}, {})


def test_ports_come_as_a_list_or_as_a_range(written):
    path = written('session_ports = [5560, 5599]\n[robot]\nmodel = "chain3"\n')
    assert load_config(path, {}, {}).session_ports == (5560, 5599)
    environment = {"TORQUED_SESSION_PORTS": "6000-6010"}
    assert load_config(path, {}, environment).session_ports == (6000, 6010)
