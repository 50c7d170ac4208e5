"""A page with the robot in three dimensions and all that is known of its sessions.

Live, it follows a daemon's ring; for a recording it has a slider. Both fill one `History`, and
the page knows of nothing else.
"""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Sequence
from contextlib import redirect_stdout

import numpy as np
import viser

from torqued.kernels import Robot
from torqued.tools.recording.recording import Recording
from torqued.tools.viewers.following import Following, Stopping
from torqued.tools.viewers.history import History, has_state
from torqued.tools.viewers.panels import Panels
from torqued.tools.viewers.scene import Scene
from torqued.tools.viewers.shapes import Shape

#: s between two pictures, two sets of plots, and two histograms: what a browser that draws in
#: software, on a computer that has other work, can still follow.
PICTURE, PLOT, LOOP = 0.05, 0.5, 2.0
#: s between two pictures of a recording that plays.
PLAY = 0.2


class Dash:
    """The page, for any number of viewers."""

    def __init__(
        self,
        title: str,
        robot: Robot,
        shapes: list[Shape],
        history: History,
        host: str,
        port: int,
        missing: Sequence[str] = (),
    ) -> None:
        self.history = history
        with redirect_stdout(io.StringIO()):  # its banner
            self.server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
        self.server.gui.configure_theme(show_logo=False, show_share_button=False)
        self.scene = Scene(self.server, robot, shapes)
        self.panels = Panels(self.server, history.robot, missing)
        self.scene.move(robot.neutral())
        self._has_looked = False

    @property
    def port(self) -> int:
        return int(self.server.get_port())

    def close(self) -> None:
        with redirect_stdout(io.StringIO()):
            self.server.stop()

    def picture(self) -> None:
        """Move the robot to the newest state of the chosen session."""
        track = self.panels.chosen_track(self.history)
        if track is None or track.newest is None or not has_state(track.newest):
            return
        if not self._has_looked:
            self._has_looked = True
            self.scene.look(track.newest["q"])
        self.scene.move(track.newest["q"])
        self.scene.show_forces(track.info, track.newest)
        self.scene.show_reference(track.info, track.newest)

    def plots(self) -> None:
        self.panels.show(self.history)

    def follow(self, following: Following) -> None:
        """Show the ring's records until the end."""
        plots_due = loop_due = 0.0
        for batch in following.batches(PICTURE):
            self.history.add(following.reader.sessions, batch.ticks, batch.loop)
            now = time.monotonic()
            if now >= plots_due:
                plots_due = now + PLOT
                self.plots()
            if now >= loop_due:
                loop_due = now + LOOP
                self.panels.show_loop(self.history)
            self.picture()


class Playback:
    """A recording on the page: a slider over its time, at first at its end, and play."""

    def __init__(self, dash: Dash, recording: Recording) -> None:
        self.dash, self.recording = dash, recording
        sessions = recording.sessions.values()
        stamps = [s.ticks["time"][s.ticks["sequence"] >= 0] for s in sessions]
        stamps = [times for times in stamps if len(times)]
        self.first = min((int(times[0]) for times in stamps), default=0)
        last = max((int(times[-1]) for times in stamps), default=0)
        self.seconds = max(round(1e-9 * (last - self.first), 3), 1e-3)
        gui = dash.server.gui
        self.slider = gui.add_slider("time, s", 0.0, self.seconds, 1e-3, self.seconds, order=-1.0)
        self.play = gui.add_checkbox("play", False, order=-0.5)
        self._moved = threading.Event()
        self.slider.on_update(lambda _: self._moved.set())
        self.show(self.seconds)

    def show(self, at: float) -> None:
        """The robot, the plots and the log, as they were."""
        until = self.first + int(1e9 * (at + 1e-3))  # the slider knows ms, and its end is all
        history = History(self.dash.history.robot, keep_closed=True)
        sessions = {number: s.info for number, s in self.recording.sessions.items()}
        ticks = {}
        for number, session in self.recording.sessions.items():
            rows = session.ticks[: np.searchsorted(session.ticks["time"], until, "right")]
            if len(rows):
                ticks[number] = rows
        loop = self.recording.loop
        history.add(sessions, ticks, loop[: np.searchsorted(loop["time"], until, "right")])
        self.dash.history = history
        self.dash.plots()
        self.dash.panels.show_loop(history)
        self.dash.picture()

    def run(self, stopping: Stopping) -> None:
        """Follow the slider, and advance it while `play` is on."""
        for _ in stopping.looks(PLAY):
            if self.play.value:
                now = self.slider.value + PLAY
                self.slider.value = now if now <= self.seconds else 0.0  # type: ignore[misc]
                self._moved.set()
            if self._moved.is_set():
                self._moved.clear()  # before it is read: what comes meanwhile counts again
                self.show(self.slider.value)
