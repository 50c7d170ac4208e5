"""The page in a browser that nobody sees: the robot is drawn and moves, what happens is told."""

import contextlib
import re
import subprocess
import sys

import numpy as np
import pytest

from support.browser import PROGRAM, chromium, open_page, position, require_picture, wait_for_node
from support.daemons import daemon_of
from support.eventually import eventually
from support.viewing import ROBOT, Recording, Viewer
from torqued.client import TimeoutError
from torqued.common.status import STATUS
from torqued.kernels import Robot
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.catalog import describe

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not PROGRAM, reason="chromium is not installed")]

#: Of the robot's capsules, that which is last.
END = "/robot/joint_3"


daemon = daemon_of(ROBOT)


@pytest.fixture(scope="module")
def viewer(daemon, driver):
    with Viewer(daemon, "dash", "--listen", "127.0.0.1:0") as viewer:
        yield viewer


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def page(browser, viewer):
    return open_page(browser, viewer.address)


@pytest.fixture(scope="module")
def robot():
    return Robot.named(ROBOT)


def at(robot, q, frame="joint_3"):
    """m, where a frame is."""
    return robot.frame_pose(np.asarray(q), frame)[:3, 3].tolist()


def test_session_is_listed_in_words(page, driver):
    page.wait_for_function(
        "number => document.body.innerText.includes('pd_plus, session ' + number)",
        arg=driver.number,
    )
    # A busy computer may be late with states, and the status says so.
    words = re.findall("[A-Z_]+", page.inner_text(".torqued-status"))
    assert words and {*words} <= {"OK", *STATUS.values()}


def test_robot_is_drawn(page, robot, driver):
    wait_for_node(page, END, at(robot, driver.q))
    require_picture(page)


def test_a_pushed_joint_moves(page, robot, driver):
    driver.q = np.array([1.2, 0.8, -0.9, 0.4])
    wait_for_node(page, END, at(robot, driver.q))


def test_second_viewer_sees_the_same(browser, viewer, page, robot, driver):
    second = open_page(browser, viewer.address)
    wait_for_node(second, END, at(robot, driver.q))
    driver.q = np.array([-0.4, 0.2, 0.5, 0.1])
    for one in (page, second):
        wait_for_node(one, END, at(robot, driver.q))
    second.close()


def test_histograms_of_the_loop_are_drawn(page, driver):
    page.get_by_text("loop", exact=True).click()
    # Of a plot with a number that is none, the browser would draw neither curve nor axis.
    blue = """() => [...document.querySelectorAll('.uplot canvas')].some(canvas => {
        if (!canvas.offsetParent || !canvas.width || !canvas.height) return false;
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let found = 0;
        for (let k = 0; k < pixels.length; k += 4)
            found += pixels[k + 3] > 0 && pixels[k + 2] > pixels[k] + 40;
        return found > 50;
    })"""
    page.wait_for_function(blue)
    page.wait_for_function("() => document.body.innerText.includes('ticks beyond 700 µs')")


def test_status_bit_appears(page, driver):
    driver.q = np.array([np.nan, 0.0, 0.0, 0.0])
    page.wait_for_function("() => document.body.innerText.includes('NONFINITE')")
    driver.q = np.zeros(4)


#: In the page: the words of a session's status.
STATUS_OF = """number => [...document.querySelectorAll('.torqued-status')]
    .filter(node => node.parentElement.innerText.includes('session ' + number))
    .map(node => node.innerText).join()"""


def test_robot_whose_controller_stops_is_stale_and_falls_back(browser, another):
    """States that stay out, and nothing else, make these two words."""
    daemon = another("--robot", ROBOT, stale_ticks=50).start()
    with contextlib.ExitStack() as stack:
        session = stack.enter_context(stack.enter_context(daemon.client()).session("pd_plus"))
        eventually(lambda: stepped(session))
        viewer = stack.enter_context(Viewer(daemon, "dash", "--listen", "127.0.0.1:0"))
        page = open_page(browser, viewer.address)
        stack.callback(page.close)
        for word in ("STALE", "FALLBACK"):
            page.wait_for_function(
                f"([number, word]) => ({STATUS_OF})(number).split(' ').includes(word)",
                arg=[session.number, word],
            )
        assert "NONFINITE" not in page.evaluate(STATUS_OF, session.number)


def stepped(session):
    with contextlib.suppress(TimeoutError):  # the machine may be busy
        return session.step(np.zeros(4), np.zeros(4))


def test_shapes_of_another_file_are_drawn(browser, daemon, driver, robot, tmp_path):
    """The daemon's own robot has none, and would be drawn as capsules between its joints."""
    box = '<visual><geometry><box size="0.2 0.1 0.3"/></geometry></visual>'
    text = to_urdf(describe(ROBOT)).replace('<link name="link_3">', f'<link name="link_3">{box}')
    assert text.count(box) == 1
    path = tmp_path / "looks.urdf"
    path.write_text(text)
    with Viewer(daemon, "dash", "--listen", "127.0.0.1:0", "--visuals", str(path)) as viewer:
        page = open_page(browser, viewer.address)
        wait_for_node(page, "/robot/link_3", at(robot, driver.q, "link_3"))
        page.wait_for_function(
            "() => window.__viserMutable.nodeRefFromName['/robot/link_3/shape0'] !== undefined"
        )
        assert position(page, END) is None  # no capsule
        page.close()


@pytest.mark.parametrize("visuals", ["nowhere.urdf", "no_such_robot"])
def test_shapes_that_do_not_exist_are_refused_in_words(daemon, visuals):
    command = [sys.executable, "-m", "torqued.tools.cli.main", "dash", "--visuals", visuals]
    done = subprocess.run(
        [*command, "--robot", daemon.name, "--folder", str(daemon.folder)],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"torqued: error: robot '{visuals}'")


FIRST, LAST = np.array([0.3, 0.1, -0.2, 0.2]), np.array([-0.8, 0.6, 0.9, -0.3])


@pytest.fixture(scope="module")
def recorded_page(browser, daemon, driver, tmp_path_factory):
    """Of a recording from one pose to another."""
    driver.be_at(FIRST)
    with Recording(daemon, tmp_path_factory.mktemp("recordings")) as recording:
        recording.wait_for_more()
        driver.be_at(LAST)
        recording.wait_for_more()
    with Viewer(daemon, "dash", str(recording.file), "--listen", "127.0.0.1:0") as viewer:
        page = open_page(browser, viewer.address)
        yield page
        page.close()


def go_to(page, seconds):
    """By the number beside the slider."""
    field = page.locator("input.mantine-NumberInput-input").first
    field.fill(f"{seconds:.3f}")
    field.press("Enter")


def test_recording_opens_with_its_last_state(recorded_page, robot):
    wait_for_node(recorded_page, END, at(robot, LAST))
    require_picture(recorded_page)


def test_slider_leads_through_the_time_of_a_recording(recorded_page, robot):
    last = float(recorded_page.get_by_role("slider").first.get_attribute("aria-valuemax"))
    for seconds, q in ((0.0, FIRST), (last, LAST), (0.0, FIRST)):
        go_to(recorded_page, seconds)
        wait_for_node(recorded_page, END, at(robot, q))


def test_recording_plays_by_itself(recorded_page, robot):
    recorded_page.get_by_role("checkbox").first.dispatch_event("click")
    wait_for_node(recorded_page, END, at(robot, LAST))
