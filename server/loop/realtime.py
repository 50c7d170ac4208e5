"""What the operating system grants a realtime thread, and what to add where it does not."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping

#: mlockall: what is there, and what will be.
MCL_CURRENT_AND_FUTURE = 3


def realtime(priority: int, lock_memory: bool, cpu: int | None) -> dict[str, str]:
    """Ask for realtime settings for this thread; what took effect and what did not, and why."""
    report = {}
    if priority > 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
            report["priority"] = f"SCHED_FIFO {priority}"
        except OSError as error:
            report["priority"] = (
                f"not granted ({error.strerror}): needs CAP_SYS_NICE or an rtprio limit"
            )
    if lock_memory:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mlockall(MCL_CURRENT_AND_FUTURE) == 0:
            report["memory"] = "locked"
        else:
            reason = os.strerror(ctypes.get_errno())
            report["memory"] = f"not locked ({reason}): needs CAP_IPC_LOCK or a memlock limit"
    if cpu is not None:
        try:
            os.sched_setaffinity(0, {cpu})
            report["cpu"] = f"pinned to {cpu}"
        except OSError as error:
            report["cpu"] = f"not pinned to {cpu} ({error.strerror}): not among those it may use"
    return report


#: For each setting: what a container needs, and what a systemd unit needs.
REMEDIES = {
    "priority": ("--ulimit rtprio={priority}", "LimitRTPRIO={priority}"),
    "memory": ("--ulimit memlock=-1", "LimitMEMLOCK=infinity"),
    "cpu": ("--cpuset-cpus with {cpu} in it", "CPUAffinity with {cpu} in it"),
}


def what_to_add(report: Mapping[str, str], priority: int, cpu: int | None) -> list[str]:
    """What would have granted the settings that were refused: a line for each way to run this."""
    refused = [name for name, what in report.items() if what.startswith("not ")]
    if not refused:
        return []
    container, unit = (
        ", ".join(REMEDIES[name][way].format(priority=priority, cpu=cpu) for name in refused)
        for way in (0, 1)
    )
    return [
        f"in a container: docker run {container}; docker/compose.yaml has them all",
        f"without: {unit} in the systemd unit, or limits for your user in /etc/security/limits.d",
    ]
