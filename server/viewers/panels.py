"""What stands beside the robot: sessions, plots, histograms, the log."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from torqued.common.status import FALLBACK, NONFINITE, OSCILLATING, STALE, STOPPED, status_names
from torqued.server.viewers.history import History, Track, histogram
from torqued.server.viewers.plots import (
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
    "torques, N m": ("tau",),
    "errors, rad and m": ("error",),
    "storage, J, and dissipation, W": ("storage", "dissipation"),
}
#: Pixels.
LEFT_WIDTH, RIGHT_WIDTH = 330, 400
ALARMING = STALE | FALLBACK | NONFINITE | OSCILLATING | STOPPED
#: Numbers of a frame.
SIX = ("turn x", "turn y", "turn z", "x", "y", "z")
#: Beyond the period of the loop.
OVER = "#c0392b"


class Panels:
    """Made once; `show` fills them anew: sessions and log to the left, plots to the right."""

    def __init__(self, server: viser.ViserServer, joints: Sequence[str]) -> None:
        self.server, self.joints = server, list(joints)
        self._short = without_common_prefix(self.joints)
        gui = server.gui
        gui.main_panel.dock_left()
        gui.main_panel.set_width(LEFT_WIDTH)
        self.chosen = gui.add_dropdown("shown", ["-"], initial_value="-")
        self.sessions = gui.add_html("")
        with gui.add_folder("events"):
            self.log = gui.add_html("")
        self._numbers: list[int] = []
        right = gui.add_panel()
        with right.add_tab("session"):
            self._plots = {title: Plot(server, title, scrolling_axis()) for title in PLOTS}
        with right.add_tab("loop"):
            self._times = {
                name: Plot(server, f"{name} of ticks, µs", logarithmic_axis())
                for name in ("lateness", "compute")
            }
            self._period = gui.add_html("")
        right.dock_right()
        right.set_width(RIGHT_WIDTH)

    def show(self, history: History) -> None:
        """What is known now."""
        self._choose(history)
        self.sessions.content = "".join(
            session_html(track, self.joints) for track in history.tracks.values()
        ) or muted("no session is open")
        track = self.chosen_track(history)
        for title, names in PLOTS.items():
            self._plots[title].show(*self._curves(track, names))
        self.log.content = log_html(history)

    def show_loop(self, history: History) -> None:
        """How late ticks began, and how long they took, against the loop's period."""
        for name, values in (("lateness", history.lateness), ("compute", history.compute)):
            middles, counts = histogram(values)
            over = np.where(middles >= history.period, max(counts.max(), 1.0), np.nan)
            columns = {"ticks": counts, f"over {history.period:.0f} µs": over}
            self._times[name].show(middles, columns, (COLORS[0], OVER))
        self._period.content = muted(loop_words(history))

    def chosen_track(self, history: History) -> Track | None:
        """The session whose robot and plots are shown."""
        tracks = list(history.tracks.values())
        return next((t for t in tracks if _title(t) == self.chosen.value), None)

    def _choose(self, history: History) -> None:
        numbers = list(history.tracks)
        if numbers != self._numbers:
            self._numbers = numbers
            titles = [_title(track) for track in history.tracks.values()] or ["-"]
            track = self.chosen_track(history)
            kept = titles[-1] if track is None or track.status & ALARMING else self.chosen.value
            self.chosen.options = tuple(titles)
            self.chosen.value = kept  # type: ignore[misc]  # its setter is hidden from types

    def _curves(self, track: Track | None, names: Sequence[str]) -> tuple[Array, Columns]:
        """Times and what is drawn over them."""
        if track is None or len(track.kept) < 2:
            return EMPTY
        columns: Columns = {}
        for name in names:
            values = track.series(name)
            width = values.shape[1]
            titles = curve_names(self._short, width) if width > 1 else [name]
            columns |= {title: values[:, k] for k, title in enumerate(titles)}
        return (track.times(), columns) if columns else EMPTY


def without_common_prefix(names: Sequence[str]) -> list[str]:
    """`panda_joint1`, `panda_joint2` → `joint1`, `joint2`."""
    first, last = (min(names), max(names)) if len(names) > 1 else ("", "")
    alike = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return [name[first.rfind("_", 0, alike) + 1 :] for name in names]


def loop_words(history: History) -> str:
    """The loop's last ticks in numbers."""
    parts = []
    for name, values in (("late", history.lateness), ("compute", history.compute)):
        if values:
            p50, p99 = np.percentile(np.array(values), (50, 99))
            parts.append(f"{name}: p50 {p50:.0f} µs, p99 {p99:.0f} µs")
    return "; ".join([*parts, f"period {history.period:.0f} µs"])


def _title(track: Track) -> str:
    return f"{track.info.law} {track.info.number}"


def muted(text: str) -> str:
    return f'<p style="color:#888;margin:0.6em 1em">{html.escape(text)}</p>'


def session_html(track: Track, joints: Sequence[str]) -> str:
    """Law, client, status in words, and torques against limits."""
    status = track.status
    words = " ".join(status_names(status)) or "OK"
    color = "#c0392b" if status & ALARMING else "#b9770e" if status else "#1e8449"
    head = (
        f"<div><b>{html.escape(track.info.law)}</b> {track.info.number}, "
        f"{html.escape(track.info.client)}</div>"
        f'<div class="torqued-status" style="color:{color};font-weight:600">{words}</div>'
    )
    has_torques = "tau" in (track.newest.dtype.names or ())
    torques: Array = np.ravel(track.newest["tau"]) if has_torques else np.zeros(0)
    rows = zip(_names(joints, len(torques)), torques, _of(track, torques), strict=True)
    bars = "".join(bar_html(name, float(value), float(limit)) for name, value, limit in rows)
    return f'<div style="margin:0.6em 1em;font-size:0.85em">{head}{bars}</div>'


def curve_names(joints: Sequence[str], count: int) -> list[str]:
    """By joint, with a base before them or not; of a frame's six; else by number."""
    if count in (len(joints), len(joints) + 6):
        return _names(joints, count)
    return list(SIX) if count == len(SIX) else [str(k) for k in range(count)]


def _names(joints: Sequence[str], count: int) -> list[str]:
    """For torques: those of a base's six rows before the joints'."""
    names = [f"base {k}" for k in range(count - len(joints))] + list(joints)
    return names[len(names) - count :]


def _of(track: Track, torques: Any) -> Array:
    limits = track.limits
    return limits if len(limits) == len(torques) else np.full(len(torques), np.inf)


def bar_html(name: str, value: float, limit: float) -> str:
    """A bar from the middle: to the right where the torque is positive."""
    share = min(abs(value) / limit, 1.0) if np.isfinite(limit) and limit > 0.0 else 0.0
    color = "#c0392b" if share > 0.98 else "#b9770e" if share > 0.8 else "#4e79a7"
    side = "left" if value >= 0.0 else "right"
    of = f" of {limit:.3g}" if np.isfinite(limit) else ""
    return (
        '<div style="display:flex;align-items:center;height:1.35em">'
        f'<span style="width:9.5em;overflow:hidden;text-overflow:ellipsis">{html.escape(name)}'
        '</span><span style="flex:1;height:0.55em;background:#8883;position:relative">'
        f'<span style="position:absolute;{side}:50%;width:{50 * share:.1f}%;height:100%;'
        f'background:{color}"></span></span>'
        f'<span style="width:7.5em;text-align:right">{value:.2f}{of}</span></div>'
    )


def log_html(history: History) -> str:
    """Newest first, with the time before the newest tick."""
    newest = max(
        (int(t.newest["time"]) for t in history.tracks.values() if t.newest is not None), default=0
    )
    lines = []
    for event in list(history.events)[::-1][:30]:
        ago = f"{1e-9 * (event.time - newest):.1f} s" if newest else ""
        often = f" ×{event.times}" if event.times > 1 else ""
        words = f"{html.escape(event.words)}{often}"
        lines.append(f"<div>{ago} <b>{html.escape(event.law)}</b> {words}</div>")
    return f'<div style="margin:0 1em;font-size:0.85em">{"".join(lines)}</div>'
