"""What `torqued bench` runs.

A benchmark is a module of this package, named in `BENCHMARKS`, with two functions:
`add_arguments(parser)` for its options, and `run(args)`, which returns the exit code.
"""

#: Name of the benchmark's module → what it measures.
BENCHMARKS: dict[str, str] = {
    "kernels": "M, Ṁ, C, Γ and the recursive algorithms, beside Pinocchio in the same run",
    "wbc": "a tick of the whole-body quadratic program, beside DAQP alone and TSID",
}
