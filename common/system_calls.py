"""Numbers of Linux' futex call, for the client and for compiled code."""

from __future__ import annotations

#: Number of the system call, by machine.
SYSTEM_CALLS = {"x86_64": 202, "aarch64": 98, "riscv64": 98}
FUTEX_WAIT, FUTEX_WAKE = 0, 1
