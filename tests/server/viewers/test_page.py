"""The page in a browser that nobody sees: the robot is drawn and moves, a status bit appears."""

import io
import shutil

import numpy as np
import pytest
from daemons import DaemonProcess
from PIL import Image
from playwright.sync_api import sync_playwright
from viewing import ROBOT, Driver, Viewer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed"),
]

#: WebGL in software, and nothing but WebGL: a browser that also puts its page together with it
#: needs seconds of computing for a picture. Calls nobody.
OPTIONS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-compositing",
    "--disable-gpu-rasterization",
    "--disable-accelerated-2d-canvas",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
#: Pixels of the picture for each of the window.
COARSE = "?fixedDpr=0.25"
#: ms
PATIENCE = 240_000
#: In the page: where a node of the scene is, as it is drawn.
POSITION = """name => {
    const node = window.__viserMutable?.nodeRefFromName?.[name];
    return node ? node.position.toArray() : null;
}"""


@pytest.fixture(scope="module")
def daemon(folder):
    process = DaemonProcess(folder, ROBOT, "--robot", ROBOT).start()
    yield process
    assert process.stop() == 0


@pytest.fixture(scope="module")
def driver(daemon):
    thread = Driver(daemon)
    thread.start()
    assert thread.started.wait(60.0)
    yield thread
    thread.stopping.set()
    thread.join(60.0)


@pytest.fixture(scope="module")
def viewer(daemon, driver):
    with Viewer(daemon, "dash", "--listen", "127.0.0.1:0") as viewer:
        yield viewer


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(OPTIONS), timeout=PATIENCE
        )
        yield browser
        browser.close()


def opened(browser, viewer):
    page = browser.new_page(viewport={"width": 1000, "height": 400})
    page.set_default_timeout(PATIENCE)
    page.goto(viewer.introduction.split()[-1] + COARSE, wait_until="commit")
    return page


@pytest.fixture(scope="module")
def page(browser, viewer):
    return opened(browser, viewer)


def wait_for_end_at(page, expected):
    """Until the last capsule is where it belongs, in the axes of what is drawn."""
    page.wait_for_function(
        f"""([name, expected]) => {{
            const found = ({POSITION})(name);
            return found && found.every((x, k) => Math.abs(x - expected[k]) < 1e-4);
        }}""",
        arg=["/robot/joint_3", expected],
    )


def end_of(robot, q):
    return robot.frame_pose(np.asarray(q), "joint_3")[:3, 3].tolist()


@pytest.fixture(scope="module")
def robot():
    from torqued.kernels import Robot

    return Robot.named(ROBOT)


def test_session_is_listed_in_words(page, driver):
    page.wait_for_function(
        "number => document.body.innerText.includes('pd_plus ' + number)", arg=driver.number
    )
    # A busy computer may be late with states, and the status says so.
    assert page.inner_text(".torqued-status")


def test_robot_is_drawn(page, robot, driver):
    wait_for_end_at(page, end_of(robot, driver.q))
    # Frames come when something has changed: the first may be before the links.
    page.wait_for_function(
        "() => window.__viserTestpoints.rendererInfo.render.triangles > 500",
    )
    box = page.locator("canvas").first.bounding_box()
    assert box is not None
    picture = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("L"), float)
    middle = picture[:, 340:590]  # between the panels
    assert middle.std() > 5.0


def test_a_pushed_joint_moves(page, robot, driver):
    driver.q = np.array([1.2, 0.8, -0.9, 0.4])
    wait_for_end_at(page, end_of(robot, driver.q))


def test_second_viewer_sees_the_same(browser, viewer, page, robot, driver):
    second = opened(browser, viewer)
    wait_for_end_at(second, end_of(robot, driver.q))
    driver.q = np.array([-0.4, 0.2, 0.5, 0.1])
    for one in (page, second):
        wait_for_end_at(one, end_of(robot, driver.q))
    second.close()


def test_status_bit_appears(page, driver):
    driver.q = np.array([np.nan, 0.0, 0.0, 0.0])
    page.wait_for_function("() => document.body.innerText.includes('NONFINITE')")
    driver.q = np.zeros(4)
