"""The page in a browser that nobody sees: the robot is drawn and moves, a status bit appears."""

import io
import shutil

import numpy as np
import pytest
from daemons import DaemonProcess
from eventually import eventually
from PIL import Image
from playwright.sync_api import sync_playwright
from viewing import ROBOT, Driver, Viewer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed"),
]

#: Draws in software, and calls nobody.
OPTIONS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
#: ms
PATIENCE = 240_000


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
def page(daemon, driver):
    with (
        Viewer(daemon, "dash", "--listen", "127.0.0.1:0") as viewer,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(OPTIONS), timeout=PATIENCE
        )
        page = browser.new_page(viewport={"width": 900, "height": 500})
        page.set_default_timeout(PATIENCE)
        page.goto(viewer.introduction.split()[-1])
        yield page
        browser.close()


def drawn(page):
    """Pixels of the part without panels."""
    data = page.screenshot(clip={"x": 250, "y": 100, "width": 300, "height": 350})
    return np.asarray(Image.open(io.BytesIO(data)).convert("L"), float)


def test_session_is_listed_in_words(page, driver):
    page.wait_for_function(
        "number => document.body.innerText.includes('pd_plus ' + number)", arg=driver.number
    )
    assert "OK" in page.inner_text(".torqued-status")


def robot_seen(page):
    """The picture, once there is more on it than ground."""
    seen = drawn(page)
    return seen if seen.std() > 2.0 else None


def test_robot_is_drawn_and_a_pushed_joint_moves(page, driver):
    (before,) = eventually(lambda: [seen] if (seen := robot_seen(page)) is not None else [], 240.0)
    driver.q = np.array([1.2, 0.8, -0.9, 0.4])
    eventually(lambda: np.abs(drawn(page) - before).mean() > 0.5, 240.0)


def test_status_bit_appears(page, driver):
    driver.q = np.array([np.nan, 0.0, 0.0, 0.0])
    page.wait_for_function("() => document.body.innerText.includes('NONFINITE')")
    driver.q = np.zeros(4)
