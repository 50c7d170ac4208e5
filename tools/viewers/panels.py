"""What stands beside the robot: sessions, plots, histograms, the log."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from torqued.common.status import FALLBACK, STOPPED, status_names
from torqued.server.loop.budget import BUDGET
from torqued.server.observation.layout import FALLEN
from torqued.tools.recording.session_layout import (
    BASE,
    joints_of,
    task_names,
    titles,
    without_common_prefix,
)
from torqued.tools.recording.status_colors import ALARM, ALARMING, NOTICE, status_color
from torqued.tools.viewers.history import SPAN, History, Track, stairs, walls_at
from torqued.tools.viewers.plots import (
    COLORS,
    EMPTY,
    Columns,
    Plot,
    logarithmic_axis,
    scrolling_axis,
)

Array = NDArray[np.float64]

#: Plots, and what each shows of a session.
PLOTS = {
    "torques": ("tau",),
    "errors": ("error",),
    "storage and dissipation": ("storage", "dissipation"),
}
#: Times of the loop's ticks, and the part of a period that each has to stay below.
TIMES = {"lateness": 1.0, "compute": BUDGET}
#: Lines about what is not drawn.
MAX_MISSING = 6
#: Pixels.
LEFT_WIDTH, RIGHT_WIDTH = 330, 400


class Panels:
    """Made once; `show` updates them: sessions and log to the left, plots to the right."""

    def __init__(
        self, server: viser.ViserServer, robot: Mapping[str, Any], missing: Sequence[str] = ()
    ) -> None:
        self.server, self.robot = server, robot
        self._short = without_common_prefix(joints_of(robot))
        gui = server.gui
        gui.main_panel.dock_left()
        gui.main_panel.set_width(LEFT_WIDTH)
        self.chosen = gui.add_dropdown("session shown", ["-"], initial_value="-")
        self.sessions = gui.add_html("")
        with gui.add_folder("events"):
            self.log = gui.add_html("")
        self.missing: viser.GuiHtmlHandle | None = None
        if missing:
            with gui.add_folder("not drawn"):
                self.missing = gui.add_html(missing_html(missing))
        self._numbers: list[int] = []
        right = gui.add_panel()
        with right.add_tab("session"):
            gui.add_html(muted(f"the last {SPAN:g} s; times in s before the newest tick"))
            self._plots = {title: Plot(server, title, scrolling_axis()) for title in PLOTS}
        with right.add_tab("loop"):
            gui.add_html(muted("the loop's last ticks, and the time that it has for them"))
            self._times = {
                name: Plot(server, name, logarithmic_axis(), ("µs", "% of ticks")) for name in TIMES
            }
            self._loop_words = gui.add_html("")
        right.dock_right()
        right.set_width(RIGHT_WIDTH)

    def show(self, history: History) -> None:
        """What is known now."""
        self._choose(history)
        self.sessions.content = "".join(
            session_html(track, self.robot) for track in history.tracks.values()
        ) or muted("no session is open: a controller opens one")
        track = self.chosen_track(history)
        for title, names in PLOTS.items():
            titled = partial(plot_title, title, names, track)
            self._plots[title].show(*self._curves(track, names), titled=titled)
        self.log.content = log_html(history)

    def show_loop(self, history: History) -> None:
        """How late ticks began, and how long they took, against what the loop has time for."""
        for name, values in loop_times(history).items():
            limit = TIMES[name] * history.period
            corners, shares, beyond = stairs(values, limit)
            columns = {"ticks": shares, f"beyond {limit:.0f} µs": beyond}
            self._times[name].show(corners, columns, (COLORS[0], ALARM))
        self._loop_words.content = "".join(muted(line) for line in loop_words(history))

    def chosen_track(self, history: History) -> Track | None:
        """The session whose robot and plots are shown."""
        tracks = list(history.tracks.values())
        return next((t for t in tracks if _title(t) == self.chosen.value), None)

    def _choose(self, history: History) -> None:
        numbers = list(history.tracks)
        if numbers != self._numbers:
            self._numbers = numbers
            listed = [_title(track) for track in history.tracks.values()] or ["-"]
            track = self.chosen_track(history)
            kept = listed[-1] if track is None or track.status & ALARMING else self.chosen.value
            self.chosen.options = tuple(listed)
            self.chosen.value = kept  # type: ignore[misc]  # its setter is hidden from types

    def _curves(self, track: Track | None, names: Sequence[str]) -> tuple[Array, Columns]:
        """Times and what is drawn over them."""
        if track is None or len(track.kept) < 2:
            return EMPTY
        columns: Columns = {}
        for name in names:
            values = track.series(name)
            width = values.shape[1]
            names_of_it = [name][:width]  # laws differ in what they give: there may be nothing
            tasks = task_names(track.info) if name == "error" else []
            if width > 1:
                names_of_it = titles(width, self.robot, self._short, tasks)
            found = dict(zip(names_of_it, values.T, strict=True))
            # Most tasks have but one of the two errors, and a free base no torque.
            columns |= {title: curve for title, curve in found.items() if not tasks or curve.any()}
        return (track.times(), columns) if columns else EMPTY


def plot_title(title: str, names: Sequence[str], track: Track | None, prefix: str = "") -> str:
    """With the units of what is drawn: `storage and dissipation, mJ and mW`."""
    found = [track.unit(name) for name in names] if track is not None else []
    units = [", ".join(prefix + part for part in unit.split(", ")) for unit in found if unit]
    return ", ".join([title, *filter(None, [" and ".join(units)])])


def missing_html(missing: Sequence[str]) -> str:
    """What the robot on the page lacks; all of it is in the log."""
    lines = list(missing[:MAX_MISSING])
    if more := len(missing) - len(lines):
        lines.append(f"and {more} more")
    rows = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
    style = f"color:{NOTICE};margin:0 1em;font-size:0.85em;overflow-wrap:anywhere"
    return f'<div class="torqued-missing" style="{style}">{rows}</div>'


def loop_times(history: History) -> dict[str, Sequence[float]]:
    return {"lateness": history.lateness, "compute": history.compute}


def loop_words(history: History) -> list[str]:
    """The loop's last ticks in numbers."""
    lines = [f"period {history.period:.0f} µs; sessions may compute for {100 * BUDGET:.0f} % of it"]
    for name, values in loop_times(history).items():
        if values:
            found, limit = np.array(values), TIMES[name] * history.period
            p50, p99 = np.percentile(found, (50, 99))
            beyond = int((found >= limit).sum())
            lines.append(
                f"{name}: p50 {p50:.0f} µs, p99 {p99:.0f} µs, "
                f"{beyond or 'none'} of {len(found)} ticks beyond {limit:.0f} µs"
            )
    return lines


def _title(track: Track) -> str:
    return f"{track.info.law} {track.info.number}"


def muted(text: str) -> str:
    return f'<p style="color:#888;margin:0.5em 1em;font-size:0.85em">{html.escape(text)}</p>'


def session_html(track: Track, robot: Mapping[str, Any]) -> str:
    """Law, client, status in words, and torques against limits; a free base has none."""
    words, color = status_words(track), status_color(track.status)
    head = (
        f"<div><b>{html.escape(track.info.law)}</b>, session {track.info.number}, "
        f"client {html.escape(track.info.client)}</div>"
        f'<div class="torqued-status" style="color:{color};font-weight:600">{words}</div>'
    )
    if walls := walls_at(track.newest, track.info, robot):
        head += f'<div class="torqued-walls">at the wall of {html.escape(", ".join(walls))}</div>'
    has_torques = "tau" in (track.newest.dtype.names or ())
    torques: Array = np.ravel(track.newest["tau"]) if has_torques else np.zeros(0)
    names = titles(len(torques), robot, joints_of(robot))
    known = len(track.limits) == len(torques)
    limits = track.limits if known else np.full(len(torques), np.inf)
    rows = zip(names, torques, limits, strict=True)
    bars = "".join(
        bar_html(name, float(value), float(limit))
        for name, value, limit in rows
        if name not in BASE[6]
    )
    if bars:
        bars = f'<div style="color:#888;text-align:right">torque, N m, of its limit</div>{bars}'
    return f'<div style="margin:0.6em 1em;font-size:0.85em">{head}{bars}</div>'


def status_words(track: Track) -> str:
    """Status bits by name; of a fallback also why it began, and what ends it."""
    notes = []
    if track.status & FALLBACK:
        if over := int(track.newest["reason"]) & ~track.status:
            notes.append(f"because of {' '.join(status_names(over))}")
        if track.status & STOPPED:
            notes.append("until recover and resume")
        elif int(track.newest["mode"]) & FALLEN:  # else the last torque is held for a moment
            notes.append("until resume")
    words = " ".join(status_names(track.status)) or "OK"
    return f"{words} ({', '.join(notes)})" if notes else words


def bar_html(name: str, value: float, limit: float) -> str:
    """A bar from the middle: to the right where the torque is positive."""
    share = min(abs(value) / limit, 1.0) if np.isfinite(limit) and limit > 0.0 else 0.0
    color = ALARM if share > 0.98 else NOTICE if share > 0.8 else COLORS[0]
    side = "left" if value >= 0.0 else "right"
    of = f" of {limit:.3g}" if np.isfinite(limit) else ""
    return (
        '<div style="display:flex;align-items:center;height:1.35em">'
        '<span style="width:10.5em;padding-right:0.5em;overflow:hidden;text-overflow:ellipsis;'
        f'white-space:nowrap" title="{html.escape(name)}">{html.escape(name)}</span>'
        '<span style="flex:1;height:0.55em;background:#8883;position:relative">'
        f'<span style="position:absolute;{side}:50%;width:{50 * share:.1f}%;height:100%;'
        f'background:{color}"></span></span>'
        f'<span style="width:7.5em;text-align:right">{rounded(value)}{of}</span></div>'
    )


def rounded(value: float) -> str:
    """With two digits, and no minus before zero."""
    return f"{value:.2f}".replace("-0.00", "0.00") if abs(value) < 1.0 else f"{value:.2f}"


def log_html(history: History) -> str:
    """Newest first, with the time before the newest tick."""
    newest = max(
        (int(t.newest["time"]) for t in history.tracks.values() if t.newest is not None), default=0
    )
    lines = []
    for event in list(history.events)[::-1][:30]:
        ago = f"{1e-9 * max(newest - event.time, 0):.1f} s ago:" if newest else ""
        often = f" ×{event.times}" if event.times > 1 else ""
        words = f"{html.escape(event.words)}{often}"
        lines.append(f"<div>{ago} <b>{html.escape(event.law)}</b> {words}</div>")
    return f'<div style="margin:0 1em;font-size:0.85em">{"".join(lines)}</div>'
