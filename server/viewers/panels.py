"""What stands beside the robot: sessions, plots, histograms, the log."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray
from viser import uplot

from torqued.common.status import FALLBACK, NONFINITE, OSCILLATING, STALE, STOPPED, status_names
from torqued.server.viewers.history import History, Track, histogram

Array = NDArray[np.float64]

COLORS = (
    *("#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f"),
    *("#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#79706e"),
)
#: Plots, and what each shows of a session.
PLOTS = {
    "torques, N m": ("tau",),
    "errors of joints, rad": ("error",),
    "storage, J, and dissipation, W": ("storage", "dissipation"),
}
#: Curves that a plot has at the most.
MOST_CURVES = 12
ALARMING = STALE | FALLBACK | NONFINITE | OSCILLATING | STOPPED


class Panels:
    """Made once; `show` fills them anew."""

    def __init__(self, server: viser.ViserServer, joints: Sequence[str]) -> None:
        self.server, self.joints = server, list(joints)
        gui = server.gui
        self.sessions = gui.add_html("")
        self.chosen = gui.add_dropdown("plots of", ["-"], initial_value="-")
        self._numbers: list[int] = []
        self._plots = {title: self._plot(title) for title in PLOTS}
        with gui.add_folder("loop", expand_by_default=False):
            self._times = {
                name: self._plot(f"{name} of ticks, µs") for name in ("lateness", "compute")
            }
        with gui.add_folder("log"):
            self.log = gui.add_html("")

    def _plot(self, title: str) -> viser.GuiUplotHandle:
        numbers = {"x": uplot.Scale(time=False)}  # uPlot takes them for dates otherwise
        return self.server.gui.add_uplot(*_empty(), title=title, scales=numbers, aspect=2.0)

    def show(self, history: History) -> None:
        """What is known now."""
        self._choose(history)
        self.sessions.content = "".join(
            session_html(track, self.joints) for track in history.tracks.values()
        ) or muted("no session is open")
        track = self._track(history)
        for title, names in PLOTS.items():
            data, series = self._curves(track, names)
            self._plots[title].data = data
            self._plots[title].series = series
        for name, values in (("lateness", history.lateness), ("compute", history.compute)):
            middles, counts = histogram(values)
            self._times[name].data = (middles, counts)
            self._times[name].series = (
                uplot.Series(label="µs"),
                uplot.Series(label="ticks", stroke=COLORS[0], fill=COLORS[0] + "60"),
            )
        self.log.content = log_html(history)

    def chosen_track(self, history: History) -> Track | None:
        """The session whose robot and plots are shown."""
        return self._track(history)

    def _choose(self, history: History) -> None:
        numbers = list(history.tracks)
        if numbers != self._numbers:
            self._numbers = numbers
            titles = [_title(track) for track in history.tracks.values()] or ["-"]
            kept = self.chosen.value if self.chosen.value in titles else titles[0]
            self.chosen.options = tuple(titles)
            self.chosen.value = kept  # type: ignore[misc]  # its setter is hidden from types

    def _track(self, history: History) -> Track | None:
        tracks = list(history.tracks.values())
        return next((t for t in tracks if _title(t) == self.chosen.value), None)

    def _curves(self, track: Track | None, names: Sequence[str]) -> tuple[Any, Any]:
        if track is None or len(track.kept) < 2:
            return _empty()
        columns, labels = [track.times()], ["s"]
        for name in names:
            values = track.series(name)
            titles = self.joints if values.shape[1] == len(self.joints) else None
            for k in range(min(values.shape[1], MOST_CURVES)):
                columns.append(np.ascontiguousarray(values[:, k]))
                labels.append(titles[k] if titles else name if values.shape[1] == 1 else f"{k}")
        if len(columns) == 1:
            return _empty()
        series = [uplot.Series(label=labels[0])]
        series += [
            uplot.Series(label=label, stroke=COLORS[k % len(COLORS)], width=1.5)
            for k, label in enumerate(labels[1:])
        ]
        return tuple(columns), tuple(series)


def _empty() -> tuple[Any, Any]:
    return (np.array([-1.0, 0.0]), np.zeros(2)), (
        uplot.Series(label="s"),
        uplot.Series(label="nothing", stroke="#00000000"),
    )


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
        lines.append(f"<div>{ago} <b>{html.escape(event.law)}</b> {html.escape(event.words)}</div>")
    return f'<div style="margin:0 1em;font-size:0.85em">{"".join(lines)}</div>'
