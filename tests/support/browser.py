"""A browser that nobody sees, for tests and for the pictures of docs/figures."""

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from support.eventually import PATIENCE

PROGRAM = shutil.which("chromium")
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
    "--disable-quic",
    "--no-first-run",
)
#: Pixels of the picture for each of the window.
COARSE = "?fixedDpr=0.25"
#: In the page: where a node of the scene is, as it is drawn.
POSITION = """name => {
    const node = window.__viserMutable?.nodeRefFromName?.[name];
    return node ? node.position.toArray() : null;
}"""


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=PROGRAM, args=list(OPTIONS), timeout=1000 * PATIENCE
        )
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser: Browser, address: str) -> Page:
    """A page of `torqued dash`, drawn coarsely: a computer that is busy has time for that."""
    page = browser.new_page(viewport={"width": 1000, "height": 400})
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(address + COARSE, wait_until="commit")
    return page


def position(page: Page, node: str) -> list[float] | None:
    """m, of a node of the scene in its parent; None: it is not there."""
    found: list[float] | None = page.evaluate(POSITION, node)
    return found


def wait_for_node(page: Page, node: str, expected: list[float]) -> None:
    """Until it is where it belongs, in the axes of what is drawn."""
    page.wait_for_function(
        f"""([name, expected]) => {{
            const found = ({POSITION})(name);
            return found && found.every((x, k) => Math.abs(x - expected[k]) < 1e-4);
        }}""",
        arg=[node, expected],
    )


def require_picture(page: Page) -> None:
    """Triangles are drawn, and something is to be seen between the panels."""
    # Frames come when something has changed: the first may be before the links.
    page.wait_for_function("() => window.__viserTestpoints.rendererInfo.render.triangles > 500")
    picture = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("L"), float)
    assert picture[:, 340:590].std() > 5.0
