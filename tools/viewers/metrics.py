"""A daemon's counters for Prometheus, from `stats` and from its ring.

Names and units follow Prometheus's own advice: seconds, totals, one prefix. Labels are few and
bounded: robot, session and law of those that are open, operation and outcome.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from torqued.common.errors import TorquedError
from torqued.common.status import STATUS
from torqued.tools.recording.reader import Batch

#: s: upper ends of the bins of lateness and compute time.
BINS = (5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 5e-2)
#: Counters of a session, and what they count.
SESSION_COUNTERS = {
    "states": "states that came",
    "bad_states": "states that were refused",
    "outputs": "torques that were sent",
    "dropped": "torques not received by the client",
    "stale": "ticks whose state was too old",
    "clamped": "ticks whose torque was cut",
    "overruns": "ticks left out since the session took too long",
    "fallbacks": "times that the fallback took over",
    "walls": "ticks at a wall",
}


class Times:
    """A histogram of durations that only grows."""

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(len(BINS) + 1, np.int64)
        self.sum = 0.0  # s

    def add(self, nanoseconds: NDArray[np.int64]) -> None:
        seconds = 1e-9 * np.maximum(nanoseconds, 0)
        bins = np.searchsorted(BINS, seconds)  # a bin holds its upper end
        self.counts += np.bincount(bins, minlength=len(BINS) + 1)
        self.sum += float(seconds.sum())

    def buckets(self) -> list[tuple[str, float]]:
        ends = [f"{end:g}" for end in BINS] + ["+Inf"]
        sums = np.cumsum(self.counts)
        return [(end, float(count)) for end, count in zip(ends, sums, strict=True)]


class Metrics:
    """What Prometheus asks for. `add` and `collect` may come from different threads.

    stats    asks the daemon; an error becomes torqued_up 0
    """

    def __init__(self, robot: str, stats: Callable[[], Mapping[str, Any]]) -> None:
        self.robot = robot
        self._stats = stats
        self._lock = threading.Lock()
        self._lateness, self._compute = Times(), Times()
        self._lost = 0

    def add(self, batch: Batch) -> None:
        """Count what came out of the ring."""
        with self._lock:
            if len(batch.loop):
                self._lateness.add(batch.loop["time"] - batch.loop["deadline"])
                self._compute.add(batch.loop["compute"])
            self._lost += batch.lost_records

    def collect(self) -> Iterator[Metric]:
        """All metrics, as prometheus_client wants them."""
        try:
            stats = self._stats()
        except TorquedError:
            yield self._gauge("up", "whether the daemon answers", 0.0)
            return
        yield self._gauge("up", "whether the daemon answers", 1.0)
        yield from self._daemon(stats)
        yield from self._sessions(stats["sessions"])
        with self._lock:
            yield self._histogram("loop_lateness_seconds", "from deadline to wake", self._lateness)
            yield self._histogram("loop_compute_seconds", "computing of a tick", self._compute)
            yield self._total("observer_lost_records", "records lost here", self._lost)

    def _daemon(self, stats: Mapping[str, Any]) -> Iterator[Metric]:
        servo, worker = stats["servo"], stats["worker"]
        yield self._gauge("ready", "whether kernels are compiled", float(stats["ready"]))
        yield self._gauge("uptime_seconds", "since the daemon was started", stats["uptime"])
        yield self._gauge("loop_rate_hertz", "ticks a second, as configured", servo["rate"])
        yield self._gauge("loop_stopped", "whether a stop holds all sessions", servo["stopped"])
        yield self._total("loop_ticks", "ticks", servo["tick"])
        yield self._total("loop_missed", "deadlines that passed unserved", servo["missed"])
        yield self._gauge("memory_resident_bytes", "of the daemon", stats["memory"]["resident"])
        requests = CounterMetricFamily(
            "torqued_requests",
            "requests by operation and outcome: ok, or an error's code",
            labels=("robot", "operation", "outcome"),
        )
        for operation, outcomes in stats["outcomes"].items():
            for outcome, count in outcomes.items():
                requests.add_metric((self.robot, operation, outcome), count)
        yield requests
        yield self._total("unsent", "replies not received by a client", stats["unsent"])
        yield self._gauge("worker_queued", "jobs that wait for the worker", worker["queued"])
        yield self._total("worker_done", "jobs that the worker has done", worker["done"])
        yield self._total("worker_failed", "jobs that ended in an error", worker["failed"])
        yield self._total("worker_deaths", "times that the worker's process died", worker["deaths"])
        yield from self._recorders(stats.get("observation", {}).get("recorders", ()))

    def _recorders(self, recorders: Any) -> Iterator[Metric]:
        alarm = GaugeMetricFamily(
            "torqued_recorder_alarm", "1 where a recorder has stopped", labels=("robot", "process")
        )
        for recorder in recorders:
            labels = (self.robot, str(recorder["process"]))
            alarm.add_metric(labels, float(bool(recorder["alarm"])))
        yield alarm

    def _sessions(self, sessions: Any) -> Iterator[Metric]:
        labels = ("robot", "session", "law")
        yield self._gauge("sessions", "sessions that are open", len(sessions))
        counters = {
            name: CounterMetricFamily(f"torqued_session_{name}", what, labels=labels)
            for name, what in SESSION_COUNTERS.items()
        }
        success = GaugeMetricFamily(
            "torqued_session_success_rate", "of the last 100 ticks, 0 … 1", labels=labels
        )
        status = GaugeMetricFamily(
            "torqued_session_status", "1 where the bit is set", labels=(*labels, "bit")
        )
        for session in sessions:
            key = (self.robot, str(session["session"]), session["law"])
            for name, counter in counters.items():
                counter.add_metric(key, session[name])
            success.add_metric(key, session["success_rate"])
            for bit in STATUS.values():
                status.add_metric((*key, bit), float(bit in session["status"]))
        yield from counters.values()
        yield success
        yield status

    def _gauge(self, name: str, what: str, value: float, kind: Any = GaugeMetricFamily) -> Metric:
        family: Metric = kind(f"torqued_{name}", what, labels=("robot",))
        kind.add_metric(family, (self.robot,), float(value))
        return family

    def _total(self, name: str, what: str, value: float) -> Metric:
        return self._gauge(name, what, value, CounterMetricFamily)

    def _histogram(self, name: str, what: str, times: Times) -> Metric:
        family = HistogramMetricFamily(f"torqued_{name}", what, labels=("robot",))
        family.add_metric((self.robot,), buckets=times.buckets(), sum_value=times.sum)
        return family
