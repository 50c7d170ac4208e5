"""A browser that nobody sees, for tests and for the pictures of docs/figures."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

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
    "--no-first-run",
)
#: ms
PATIENCE = 240_000


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=PROGRAM, args=list(OPTIONS), timeout=PATIENCE
        )
        try:
            yield browser
        finally:
            browser.close()
