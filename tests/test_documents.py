"""What README and docs/ show works: programs run, command lines parse, settings load, links lead.

Python blocks of a document run in order and share their names, in a folder with panda.urdf in it
and beside a daemon called panda. Those of the README are programs by themselves, without that file.
One that cannot run has a comment in front of it that says why: `<!-- not run: the reason -->`.
"""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.daemons import daemon_of
from torqued.kernels import ModelWarning, Robot
from torqued.kernels.formats.sources import read_whole
from torqued.kernels.model.catalog import find_file
from torqued.server.config import load_config
from torqued.tools.cli.bench import options_parser
from torqued.tools.cli.main import build_parser

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: Most blocks that may ask not to be run, in all documents together.
MAX_EXCEPTIONS = 2
#: Commands that change nothing, and end by themselves.
HARMLESS = {"ping", "stats", "call", "models"}
#: Seconds for a command that takes one.
LONGEST = 600

BLOCK = re.compile(r"(?:^<!-- not run: (.*?) -->\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    document: Path
    language: str
    text: str
    reason: str | None  # not to run it


def blocks(document, language):
    found = BLOCK.findall(document.read_text(encoding="utf-8"))
    return [
        Block(document, lang, text, why or None) for why, lang, text in found if lang == language
    ]


def all_blocks(language):
    return [block for document in DOCUMENTS for block in blocks(document, language)]


def shell_lines(document):
    """Lines of shell blocks, fenced or indented."""
    text = document.read_text(encoding="utf-8")
    for block in blocks(document, "sh"):
        yield from block.text.splitlines()
    unfenced = BLOCK.sub("", text)
    yield from (line.strip() for line in unfenced.splitlines() if line.startswith("    "))


def without_brackets(line):
    """Options are shown in brackets; those in quotes are the command's own."""
    return re.sub(r"'[^']*'|[\[\]]", lambda found: found[0] if len(found[0]) > 1 else "", line)


def torqued_lines():
    """(document, arguments) of every line that calls torqued."""
    for document in DOCUMENTS:
        for line in shell_lines(document):
            call = re.match(r"(?:sudo )?(?:\S*/)?torqued (.*)", line)
            if call:
                # Brackets around what may be left out: all of it has to exist.
                yield document.name, shlex.split(without_brackets(call[1]), comments=True)


TORQUED_LINES = list(torqued_lines())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder to run in, with a robot's file."""
    place = tmp_path_factory.mktemp("documents")
    shutil.copy(find_file("panda"), place / "panda.urdf")
    return place


daemon = daemon_of("panda", fresh=True)


@pytest.fixture
def beside_the_daemon(place, daemon, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setenv("TORQUED_FOLDER", str(daemon.folder))


@pytest.mark.parametrize(
    "document", [d for d in DOCUMENTS if blocks(d, "python")], ids=lambda document: document.name
)
def test_python_runs(document, beside_the_daemon, tmp_path, monkeypatch):
    names = {}
    for number, block in enumerate(blocks(document, "python"), 1):
        if document.name == "README.md":
            monkeypatch.chdir(tmp_path)
            names = {}
        if block.reason is None:
            program = compile(block.text, f"{document.name}, block {number}", "exec")
            with contextlib.redirect_stdout(io.StringIO()):
                exec(program, names)


def test_python_that_does_not_run_still_compiles_and_is_rare():
    exceptions = [block for block in all_blocks("python") if block.reason is not None]
    for block in exceptions:
        compile(block.text, block.document.name, "exec")
        assert len(block.reason) > 10
    assert len(exceptions) <= MAX_EXCEPTIONS


def test_every_block_has_a_language_that_is_checked():
    """Here; the drawing of modes (mermaid) by tests/server/loop/test_session_modes.py."""
    for document in DOCUMENTS:
        found = {language for _, language, _ in BLOCK.findall(document.read_text(encoding="utf-8"))}
        assert found <= {"python", "sh", "toml", "mermaid"}, document.name


@pytest.mark.parametrize("block", all_blocks("toml"), ids=lambda block: block.document.name)
def test_settings_and_robots_load(block, tmp_path):
    if "[[link]]" in block.text:
        Robot.from_description(read_whole(block.text, "robot.toml"), strict=True)
        return
    file = tmp_path / "robot.toml"
    robot = "" if "[robot]" in block.text else '\n[robot]\nfamily = "chain"\ndofs = 2\n'
    file.write_text(block.text + robot)
    config = load_config(file, {}, {})
    if robot == "":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            assert config.robot.load().nv > 0


def parse(arguments):
    """By the command's own parser, and by the benchmark's where it is one."""
    args = build_parser().parse_args(arguments)
    if args.command == "bench":
        options_parser(args.benchmark).parse_args(args.options)


def test_command_lines_are_found():
    commands = {arguments[0] for _, arguments in TORQUED_LINES}
    assert {"serve", "ping", "call", "top", "stats", "keys", "bench"} <= commands


@pytest.mark.parametrize(
    "name, arguments", TORQUED_LINES, ids=lambda x: x if type(x) is str else " ".join(x)
)
def test_command_lines_parse(name, arguments, capsys):
    try:
        parse(arguments)
    except SystemExit:
        pytest.fail(f"{name}: torqued {shlex.join(arguments)}:\n{capsys.readouterr().err}")


def options_of(*command):
    """All options of a command, as its own help has them."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        parse([*command, "--help"])
    return set(re.findall(r"--[a-z-]+", shown.getvalue()))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_commands_within_sentences_exist(document):
    for span in re.findall(r"`torqued ([^`]+)`", document.read_text(encoding="utf-8")):
        words = span.split()
        command = words[:2] if words[0] in ("keys", "bench") else words[:1]
        known = options_of(*command)
        assert known, f"torqued {span}"
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert used <= known, f"torqued {span}"


@pytest.mark.parametrize(
    "arguments",
    [
        arguments
        for _, arguments in TORQUED_LINES
        if arguments[0] in HARMLESS and not {"--robot", "--endpoint"} & set(arguments)
    ],
    ids=" ".join,
)
def test_harmless_commands_run(arguments, beside_the_daemon):
    command = [sys.executable, "-m", "torqued.tools.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_links_lead_somewhere(document):
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, heading = target.partition("#")
        there = (document.parent / path) if path else document
        assert there.exists(), f"{document.name}: {target}"
        if heading:
            headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.M)
            assert heading in {anchor(title) for title in headings}, f"{document.name}: {target}"


def anchor(title):
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


FOLDERS = "benchmarks|client|common|configs|docker|docs|examples|kernels|server|tests|tools"
#: Named, and made by whoever needs them.
MADE_BY_USERS = {"docker/robots/keys", "allowed.toml", "arm.toml", "panda_screws.toml"}


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda d: d.name)
def test_every_file_that_is_named_exists(document):
    text = document.read_text(encoding="utf-8")
    for path in set(re.findall(rf"\b(?:{FOLDERS})/[\w./@]*\w", text)) - MADE_BY_USERS:
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_file_that_is_named_without_its_folder_exists(document):
    text = document.read_text(encoding="utf-8")
    known = {path.name for folder in FOLDERS.split("|") for path in (ROOT / folder).rglob("*")}
    known |= {path.name for path in ROOT.iterdir()}
    named = set(re.findall(r"(?<![\w/.@-])\w+\.(?:py|md|toml|mjs)\b", text))
    assert named - MADE_BY_USERS <= known, named - known


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_module_that_is_named_exists(document):
    text = document.read_text(encoding="utf-8")
    for module in re.findall(rf"\btorqued\.((?:{FOLDERS})(?:\.[a-z_]+)*)\b", text):
        path = ROOT.joinpath(*module.split("."))
        assert path.is_dir() or path.with_suffix(".py").exists(), module


def test_every_status_bit_and_code_of_the_operations_page_is_the_protocols():
    from torqued.client.errors import CODES
    from torqued.common.status import status_names

    text = (ROOT / "docs" / "OPERATIONS.md").read_text(encoding="utf-8")
    bits = dict(re.findall(r"^\| (\d+) \| ([A-Z_]+) \|", text, re.M))
    assert {int(bit): [name] for bit, name in bits.items()} == {
        1 << k: status_names(1 << k) for k in range(64) if status_names(1 << k)
    }
    section = text.partition("## Error codes")[2].partition("\n## ")[0]
    codes = re.findall(r"^\| `(\w+)` \|", section, re.M)
    assert len(codes) > 5 and set(codes) <= set(CODES)


def test_variables_of_the_operations_page_are_read_somewhere():
    text = (ROOT / "docs" / "OPERATIONS.md").read_text(encoding="utf-8")
    sources = "".join(
        path.read_text(encoding="utf-8", errors="replace")  # a cache of some tool may lie about
        for folder in ("kernels", "client", "server", "tools", "docker")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    for variable in set(re.findall(r"TORQUED_[A-Z_]+[A-Z]", text)):
        assert variable in sources, variable


def test_screenshots_are_small_and_shown_somewhere():
    """Those that docs/figures/screens.py makes."""
    program = (ROOT / "docs" / "figures" / "screens.py").read_text(encoding="utf-8")
    saved = set(re.findall(r'(?:save|save_picture|terminal)\(.*"(\w+)"\)$', program, re.M))
    assert {"dash_live", "dash_loop", "dash_forces", "dash_recording", "prometheus"} <= saved
    shown = "".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    for name in saved:
        assert f"figures/{name}.png)" in shown
        assert (ROOT / "docs" / "figures" / f"{name}.png").stat().st_size < 250_000


@pytest.mark.parametrize(
    ("title", "command", "extra"),
    [
        ("A terminal", "top", None),
        ("A page", "dash", "dash"),
        ("PlotJuggler", "stream", None),
        ("Foxglove", "foxglove", "observe"),
        ("Prometheus and Grafana", "metrics", "observe"),
    ],
)
def test_readers_have_a_section_with_command_installation_and_picture(title, command, extra):
    text = (ROOT / "docs" / "OBSERVING.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
    assert re.search(rf"^    torqued {command}\b", section, re.M)
    assert "](figures/" in section
    installed = re.findall(r"^    pip install 'torqued\[(\w+)\]'$", section, re.M)
    assert installed == ([extra] if extra else [])
