"""Settings for all tests."""

from hypothesis import settings

# No deadline: the first example may compile kernels, and shared machines stall.
settings.register_profile("torqued", deadline=None)
settings.load_profile("torqued")
