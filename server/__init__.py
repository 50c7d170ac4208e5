"""Everything around the kernels: the daemon, its loop, the command line, the known robots."""
