"""What `torqued bench` runs.

A benchmark is a module of this package, named in `BENCHMARKS`, with two functions:
`add_arguments(parser)` for its options, and `run(args)`, which returns the exit code.
"""

#: Name of the benchmark's module → what it measures.
BENCHMARKS: dict[str, str] = {
    "kernels": "M, Ṁ, C, Γ and the recursive algorithms, beside Pinocchio in the same run",
    "rtt": "the round trip of a request, beside a bare ZeroMQ echo of the same bytes",
    "loop": "how late the loop's ticks are, beside a bare clock_nanosleep loop",
    "record": "as many sessions of a large robot as there are, recorded at 1 kHz without a loss",
    "soak": "memory of a daemon over a million requests, sessions and ticks",
    "start": "import of the client beside its dependencies, start of a daemon",
    "batch": "many states in one request, beside single requests and Pinocchio",
    "representations": "times of inverse dynamics in each representation",
    "ik": "inverse kinematics, beside Pink and mink on the same targets",
    "wbc": "a tick of the whole-body quadratic program, beside DAQP alone and TSID",
}
