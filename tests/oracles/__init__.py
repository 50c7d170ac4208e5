"""Independent oracles: slow, dense and literal, sharing nothing with the compiled kernels."""
