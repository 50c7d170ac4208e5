"""The screenshots of README and docs/, made by `make screens`, or some of them by name.

    python docs/figures/screens.py [SCENE …] [--out FOLDER]

A daemon, a robot in MuJoCo and the viewers run as processes of their own, as a user starts them.
Chromium takes the pictures; Prometheus is Debian's package.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlparse

import msgpack
import numpy as np
import zmq
from PIL import Image
from playwright.sync_api import Browser, Page
from rich.console import Console
from rich.text import Text
from websockets.sync.client import connect

from torqued.client import Client
from torqued.kernels import Robot
from torqued.tools.demos.daemon import NAME, Child, Demo, demo
from torqued.tools.demos.humanoid_robot import talos
from torqued.tools.demos.humanoid_story import loop as story_loop
from torqued.tools.demos.live_setup import PRIORITY
from torqued.tools.demos.lockstep import LAW_ALONE, PERIOD, Loop
from torqued.tools.demos.models import PANDA_READY, panda
from torqued.tools.demos.plant import Plant, Push

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from support.browser import PATIENCE, chromium  # noqa: E402
from support.daemons import free_port  # noqa: E402

WIDTH, HEIGHT = 1440, 860
#: Colours of a picture: few enough for small files.
COLOURS = 256
#: s
TIMEOUT = 120.0
COMMAND = "torqued.tools.cli.main"
#: As on a robot's computer, where the system allows it.
SETTINGS = f"priority = {PRIORITY}\n"


class Studio:
    """Where pictures are taken: processes beside a daemon, a browser, a folder for the results."""

    def __init__(self, place: Demo, browser: Browser, out: Path) -> None:
        self.place, self.browser, self.out = place, browser, out

    def start(self, *arguments: str) -> Child:
        """A reader of the daemon, as a user starts it."""
        ring = ["--robot", NAME, "--folder", str(self.place.folder)]
        return self.place.start(COMMAND, *arguments, *ring, niceness=5)

    def address(self, child: Child) -> str:
        """The first that it tells."""

        def found() -> str | None:
            child.require_running()
            return next((word for word in child.log.read_text().split() if "://" in word), None)

        return wait_for(found)

    def page(self, address: str, height: int = HEIGHT) -> Page:
        page = self.browser.new_page(viewport={"width": WIDTH, "height": height})
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(address, wait_until="commit")
        return page

    def dash(self, child: Child) -> Page:
        """Its page, with the robot on it, and without the browser's note on graphics cards."""
        page = self.page(self.address(child))
        page.wait_for_selector(".torqued-status")
        note = page.get_by_text("Software WebGL rendering detected").locator("xpath=../..")
        note.get_by_role("button").click()
        return page

    def save(self, page: Any, name: str) -> None:
        """With few colours: a picture of a screen needs no more."""
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        self.save_picture(picture, name)

    def save_picture(self, picture: Image.Image, name: str) -> None:
        path = self.out / f"{name}.png"
        few = picture.quantize(COLOURS, kmeans=2, dither=Image.Dither.NONE)
        few.save(path, optimize=True)
        print(f"{path}: {path.stat().st_size / 1e3:.0f} kB", flush=True)

    def terminal(self, command: str, said: str, name: str) -> None:
        """A terminal in which a command has said something."""
        console = Console(record=True, width=120, file=io.StringIO(), highlight=False)
        console.print(Text(f"$ {command}", style="bold green"))
        console.print(Text.from_ansi(said.rstrip()))
        page = self.browser.new_page(viewport={"width": 1200, "height": 700})
        page.set_content(console.export_svg(title="torqued"))
        self.save(page.locator("svg").first, name)
        page.close()


def wait_for(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + TIMEOUT
    while not (value := found()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing within {TIMEOUT:g} s")
        time.sleep(0.1)
    return value


class Motion(threading.Thread):
    """A robot that moves in the background, no faster than in reality, up to a time at first."""

    def __init__(self, make: Callable[[Client], Loop], endpoint: str) -> None:
        super().__init__(daemon=True)
        self.make, self.endpoint = make, endpoint
        self.until, self.time = np.inf, 0.0
        self.stopping = threading.Event()

    def run(self) -> None:
        with Client(self.endpoint, timeout=60.0) as client:
            loop, start = self.make(client), time.monotonic()
            with loop.session:
                while not self.stopping.is_set():
                    if self.time >= self.until:
                        time.sleep(0.05)  # as it stands, with what it feels
                        continue
                    loop.send()
                    loop.receive()
                    loop.rows.clear()
                    self.time = loop.plant.time
                    time.sleep(max(0.0, start + self.time - time.monotonic()))

    def reach(self, seconds: float) -> None:
        """Until the robot's clock is there; it stays there."""
        self.until = seconds
        while self.time < seconds - 0.5 * PERIOD:
            if not self.is_alive():
                raise RuntimeError("the robot's thread has ended")
            time.sleep(0.05)


@contextmanager
def moving(studio: Studio, make: Callable[[Client], Loop]) -> Iterator[Motion]:
    motion = Motion(make, studio.place.endpoint)
    motion.start()
    try:
        yield motion
    finally:
        motion.stopping.set()
        motion.join(TIMEOUT)


def circling(client: Client) -> Loop:
    """A Panda whose hand follows a circle, and is pushed now and then."""
    plant, frame = Plant(panda()), "panda_hand"
    robot = Robot.from_description(panda())
    plant.reset(PANDA_READY, np.zeros(7))
    center = robot.frame_pose(PANDA_READY, frame)

    def references(t: float) -> dict[str, Any]:
        grown = min(t / 2.0, 1.0)
        offset = 0.12 * grown * np.array([0.0, np.sin(1.5 * t), np.cos(1.5 * t) - 1.0])
        return {"position": center[:3, 3] + offset}

    def events(plant: Plant, t: float) -> None:
        is_pushed = t % 5.0 > 4.4
        plant.pushes = [Push("panda_link7", np.array([25.0, 10.0, 0.0]))] if is_pushed else []

    session = client.session("impedance", frame=frame, **LAW_ALONE)
    return Loop(plant, session, references, events)


def page_scene(studio: Studio) -> None:
    """A Panda under impedance: dash_live and dash_loop."""
    studio.place.serve(panda(), "fixed", SETTINGS)
    with moving(studio, circling) as motion:
        page = studio.dash(studio.start("dash", "--listen", "127.0.0.1:0", "--visuals", "panda"))
        motion.reach(motion.time + 12.0)
        motion.until = np.inf
        studio.save(page, "dash_live")
        page.get_by_text("loop", exact=True).click()
        time.sleep(5.0)
        studio.save(page, "dash_loop")
        page.close()


def readers_scene(studio: Studio) -> None:
    """The same Panda for those who look otherwise: top, stream, foxglove, Prometheus, plot."""
    studio.place.serve(panda(), "fixed", SETTINGS)
    recording = studio.place.folder / "recordings"
    with moving(studio, circling) as motion, ExitStack() as stack:
        metrics = studio.start("metrics", "--listen", "127.0.0.1:0")
        prometheus = stack.enter_context(prometheus_at(studio.address(metrics), studio.place))
        wait_for(lambda: motion.time > 1.0)
        record = studio.start("record", "--out", str(recording), "--seconds", "15")
        top(studio)
        stream(studio)
        channels(studio)
        record.wait(TIMEOUT)
        graph(studio, prometheus)
    (file,) = recording.glob("*.mcap")
    command = ["plot", str(file), "--out", str(studio.place.folder)]
    subprocess.run([sys.executable, "-m", COMMAND, *command], check=True)
    (drawn,) = studio.place.folder.glob("*.png")
    picture = Image.open(drawn).convert("RGB")
    picture.thumbnail((1100, 1100))
    studio.save_picture(picture, "recording_plot")


def top(studio: Studio) -> None:
    arguments = ["top", "--endpoint", studio.place.endpoint, "--seconds", "2"]
    command = [sys.executable, "-m", COMMAND, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    studio.terminal("torqued top", done.stdout, "top")


def stream(studio: Studio) -> None:
    """What PlotJuggler gets: the first message, by a program of five lines."""
    child = studio.start("stream", "--endpoint", "tcp://127.0.0.1:*")
    with zmq.Context() as context, context.socket(zmq.SUB) as socket:
        socket.linger, socket.rcvtimeo = 0, int(1e3 * TIMEOUT)
        socket.subscribe(b"")
        socket.connect(studio.address(child))
        topic, body, stamp = socket.recv_multipart()
    values = msgpack.unpackb(body)
    lines = [child.log.read_text().rstrip(), "", f"{topic.decode()}  {stamp.decode()}"]
    for name, value in values.items():
        if isinstance(value, dict):
            parts = [f"{key.removeprefix('panda_')} {x:.2f}" for key, x in value.items()]
            value = "  ".join(parts) if len(parts) < 8 else f"{len(parts)} numbers"
        lines.append(f"  {name:<16} {value if isinstance(value, str) else round(value, 2)}")
    studio.terminal("torqued stream", "\n".join(lines), "stream")
    child.stop()


def channels(studio: Studio) -> None:
    """What Foxglove is offered: the list that its server sends to a client."""
    child = studio.start("foxglove", "--listen", "127.0.0.1:0")
    address = studio.address(child)
    found: dict[str, Any] = {}
    with connect(address, subprotocols=["foxglove.sdk.v1"]) as socket:
        deadline = time.monotonic() + TIMEOUT
        while not any("/impedance" in topic for topic in found) and time.monotonic() < deadline:
            message = socket.recv(timeout=TIMEOUT)
            known = json.loads(message) if isinstance(message, str) else {}
            found |= {item["topic"]: item for item in known.get("channels", ())}
    lines = [child.log.read_text().rstrip(), ""]
    for topic, item in sorted(found.items()):
        lines.append(f"  {topic:<24} {item['encoding']:<10} {item['schemaName']}")
    studio.terminal("torqued foxglove", "\n".join(lines), "foxglove_channels")
    child.stop()


@contextmanager
def prometheus_at(metrics: str, place: Demo) -> Iterator[str]:
    """Prometheus's own page, while it reads the metrics once a second."""
    targets = [{"targets": [urlparse(metrics).netloc]}]
    config = place.folder / "prometheus.yml"
    jobs = [{"job_name": "torqued", "static_configs": targets}]
    config.write_text(json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs}))
    address = f"127.0.0.1:{free_port(1)}"
    options = [f"--config.file={config}", f"--storage.tsdb.path={place.folder / 'data'}"]
    process = subprocess.Popen(
        ["prometheus", *options, f"--web.listen-address={address}", "--log.level=error"]
    )
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(TIMEOUT)


def graph(studio: Studio, prometheus: str) -> None:
    """How late ticks are, in µs, over the last minute."""
    asked = (
        "1e6 * histogram_quantile(0.99, sum by (le, robot) "
        "(rate(torqued_loop_lateness_seconds_bucket[10s])))"
    )
    time.sleep(45.0)  # something to be seen
    query = urlencode({"g0.expr": asked, "g0.tab": "0", "g0.range_input": "1m"})
    page = studio.page(f"{prometheus}/graph?{query}", height=900)
    time.sleep(8.0)
    studio.save(page, "prometheus")
    page.close()


def humanoid_scene(studio: Studio) -> None:
    """Talos on one foot and a hand at a pillar, live; and its recording."""
    studio.place.serve(talos(), "floating", SETTINGS)
    recording = studio.place.folder / "recordings"
    looks = ["--listen", "127.0.0.1:0", "--visuals", "talos_reduced"]
    with moving(studio, lambda client: story_loop(client)[0]) as motion:
        motion.until = 7.8  # when the page is there, it shall move
        record = studio.start("record", "--out", str(recording))
        dash = studio.start("dash", *looks)
        page = studio.dash(dash)
        motion.reach(9.4)  # leaning, with a hand at the pillar
        studio.save(page, "dash_forces")
        page.close()
        dash.stop()
        motion.reach(12.0)
        record.process.terminate()
        record.wait(TIMEOUT)
    (file,) = recording.glob("*.mcap")
    page = studio.dash(studio.place.start(COMMAND, "dash", str(file), *looks))
    seconds = page.get_by_role("slider").first
    last = float(seconds.get_attribute("aria-valuemax") or 0.0)
    field = page.locator("input.mantine-NumberInput-input").first
    field.fill(f"{0.95 * last:.3f}")
    field.press("Enter")
    time.sleep(8.0)
    studio.save(page, "dash_recording")
    page.close()


SCENES = {"page": page_scene, "readers": readers_scene, "humanoid": humanoid_scene}


def main() -> None:
    parser = argparse.ArgumentParser(description="make the screenshots of the documents")
    parser.add_argument("scenes", nargs="*", default=list(SCENES), metavar="SCENE")
    parser.add_argument("--out", type=Path, default=HERE)
    args = parser.parse_args()
    with chromium() as browser:
        for name in args.scenes:
            with demo() as place:
                SCENES[name](Studio(place, browser, args.out))


if __name__ == "__main__":
    main()
