"""Everything around the kernels: the command line and the catalogue of known robots."""
